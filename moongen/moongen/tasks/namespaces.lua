-- SPDX-License-Identifier: Apache-2.0
-- libmoon's module `namespaces`: tables of values by name, which all tasks see. A
-- value is a string in C's memory (moongen.tasks.serialize); the objects are pointers,
-- so they go to other tasks as such.

local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local locks = require("moongen.locks")
local serialize = require("moongen.tasks.serialize")

local namespaces = {}

-- A script sees a struct namespace, whose fields are its keys.
ffi.cdef[[
struct namespace { int32_t unseen; };
struct mg_text { uint32_t size; char bytes[1]; };
struct mg_entry { struct mg_entry *next; struct mg_text *key, *value; };
struct mg_names {
  struct namespace seen;
  struct lock lock;
  struct mg_entry *entries; /* few, and not looked up often; in the order they came */
  struct mg_names *next;
  struct mg_text *name;
};
]]

local names_t = ffi.typeof("struct mg_names *")
local TEXT_HEADER = ffi.offsetof("struct mg_text", "bytes")

local function keep(text)
  local kept = ffi.cast("struct mg_text *", locks.memory("char", TEXT_HEADER + #text))
  kept.size = #text
  ffi.copy(kept.bytes, text, #text)
  return kept
end

local function read(text) return ffi.string(text.bytes, text.size) end

-- The first of a list whose `field` says that; nil if there is none.
local function find(item, field, text)
  while item ~= nil and read(item[field]) ~= text do item = item.next end
  return item ~= nil and item or nil
end

local function add_name(all, name)
  local ns = locks.memory("struct mg_names")
  locks.prepare(ns.lock)
  ns.name, ns.next = keep(name), ffi.cast(names_t, all.namespaces)
  all.namespaces = ns
  return ns
end

--- The namespace of that name, which is the same in all tasks; without a name, that of
--- the line this is called in.
function namespaces.get(first, name)
  if type(first) == "string" then name = first end
  if not name then
    local at = debug.getinfo(2, "Sl")
    name = ("%s:%d"):format(at.source, at.currentline)
  end
  local all = C.mg_shared()
  all.lock:lock()
  local ns = find(ffi.cast(names_t, all.namespaces), "name", name)
    or add_name(all, name)
  all.lock:unlock()
  return ffi.cast("struct namespace *", ns)
end

local function names_of(ns) return ffi.cast(names_t, ns) end

-- What is stored under the key; nil if there is nothing. The lock is held.
local function value_of(ns, key)
  local entry = find(ns.entries, "key", key)
  return entry and (serialize.decode(read(entry.value)))
end

-- In the order in which they were stored. Others wait meanwhile.
local function for_each(self, f)
  local ns = names_of(self)
  ns.lock(function ()
    local keys, entry = {}, ns.entries
    while entry ~= nil do
      keys[#keys + 1] = read(entry.key)
      entry = entry.next
    end
    for _, key in ipairs(keys) do
      if find(ns.entries, "key", key) then f(key, value_of(ns, key)) end
    end
  end)
end

local function check_key(key)
  if type(key) ~= "string" then error("a namespace's keys are strings, not a "
    .. type(key), 3) end
end

-- Append an entry to the list.
local function new_entry(ns, key)
  local entry, last = locks.memory("struct mg_entry"), ns.entries
  entry.key = keep(key)
  while last ~= nil and last.next ~= nil do last = last.next end
  if last == nil then ns.entries = entry else last.next = entry end
  return entry
end

local function store(ns, key, text)
  local entry = find(ns.entries, "key", key) or new_entry(ns, key)
  local before = entry.value
  entry.value = keep(text)
  locks.free(before)
end

local function remove(ns, key)
  local before, entry = nil, ns.entries
  while entry ~= nil and read(entry.key) ~= key do before, entry = entry, entry.next end
  if entry == nil then return end
  if before then before.next = entry.next else ns.entries = entry.next end
  locks.free(entry.key)
  locks.free(entry.value)
  locks.free(entry)
end

local Namespace = {}

--- A copy of what is stored under the key; nil if there is nothing.
function Namespace:__index(key)
  check_key(key)
  if key == "forEach" then return for_each end
  local ns = names_of(self)
  if key == "lock" then return ns.lock end
  ns.lock:lock()
  local entry = find(ns.entries, "key", key)
  local text = entry and read(entry.value)
  ns.lock:unlock()
  if text then return (serialize.decode(text)) end
  return nil
end

function Namespace:__newindex(key, value)
  check_key(key)
  if key == "forEach" or key == "lock" then error(key .. " is reserved", 2) end
  local text = value ~= nil and serialize.encode(value)
  local ns = names_of(self)
  ns.lock:lock()
  if text then store(ns, key, text) else remove(ns, key) end
  ns.lock:unlock()
end

ffi.metatype("struct namespace", Namespace)

return namespaces
