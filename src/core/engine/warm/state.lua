-- SPDX-License-Identifier: Apache-2.0
-- Saves what an app remembers (its tables, and FFI values in them) and puts it back
-- in place: tables and FFI values stay the same objects, as compiled code knows
-- them. Not seen: what functions keep in their locals, memory behind pointers (but
-- for counters), metatables.

local ffi = require("ffi")

local state = {}

--- More table entries than this are too many to save: such an app isn't warmed up.
state.most_entries = 10000

-- What belongs to the engine, in an app.
local ENGINES = {input = true, output = true, region = true}

local counter_pointer = ffi.typeof("struct counter *")

-- A cdata's memory and size, or nil: pointers, functions and numbers aren't saved.
local function memory_of(value)
  if ffi.istype(counter_pointer, value) then
    return value, ffi.sizeof("struct counter")
  end
  local kind = tostring(ffi.typeof(value))
  if kind:find("[*&(]") or not (kind:find("struct ") or kind:find("%[")) then return end
  return value, ffi.sizeof(value)
end

local function save_cdata(saved, value)
  local memory, size = memory_of(value)
  if not memory then return end
  local copy = ffi.new("uint8_t[?]", size)
  ffi.copy(copy, memory, size)
  saved.memory[#saved.memory + 1] = {to = memory, from = copy, size = size}
end

-- Save `value` and put what it leads to into `todo`.
local function save(saved, value, todo)
  if saved.seen[value] then return end
  if type(value) == "table" and not saved.modules[value] then
    saved.seen[value] = true
    todo[#todo + 1] = value
  elseif type(value) == "cdata" then
    saved.seen[value] = true
    save_cdata(saved, value)
  end
end

local function save_table(saved, t, todo, skip)
  local copy = {}
  for key, value in next, t do
    copy[key] = value
    saved.entries = saved.entries + 1
    if saved.entries > state.most_entries then return false end
    if not skip[key] then save(saved, value, todo) end
  end
  saved.tables[#saved.tables + 1] = {to = t, from = copy}
  return true
end

local function modules()
  local set = {[_G] = true}
  for _, module in pairs(package.loaded) do
    if type(module) == "table" then set[module] = true end
  end
  return set
end

--- Save the state of the app; nil if it is too much.
function state.save(app)
  local saved = {tables = {}, memory = {}, seen = {[app] = true}, entries = 0,
                 modules = modules()}
  local todo = {app}
  while #todo > 0 do
    local t = table.remove(todo)
    if not save_table(saved, t, todo, t == app and ENGINES or {}) then return nil end
  end
  return saved
end

--- Put back what state.save() returned.
function state.restore(saved)
  for _, t in ipairs(saved.tables) do
    for key in next, t.to do
      if t.from[key] == nil then t.to[key] = nil end
    end
    for key, value in next, t.from do rawset(t.to, key, value) end
  end
  for _, m in ipairs(saved.memory) do ffi.copy(m.to, m.from, m.size) end
end

return state
