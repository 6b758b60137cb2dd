-- SPDX-License-Identifier: Apache-2.0
-- For --check: what is known of each packet, and what is said when it is misused. A
-- packet of which nothing is known may be anywhere: C code moves packets, too.

local failure = require("core.lib.failure")
local place = require("core.check.place")

local ffi = require("ffi")

local record = {}

local packet_p = ffi.typeof("struct packet *")
local istype, cast, tonumber = ffi.istype, ffi.cast, tonumber
local uintptr_t, void_p = ffi.typeof("uintptr_t"), ffi.typeof("const void *")

-- By address: {of = the packet, ours = is it of our pools?, state =, link = the address
-- of that it is in, owner = the app that has it, dropped, kept = has it dropped or kept
-- it in process()?; what, by, at = what happened last, what_before, by_before and
-- at_before = before that}. States: "held", "link", "freed" and kept apart, "emitted",
-- "gone" (sent by a port, to another CPU, dropped by C).
local records = {}
record.all = records

--- A pointer's address, a number.
function record.address(pointer)
  return tonumber(cast(uintptr_t, cast(void_p, pointer)))
end
local address = record.address

--- What is known of the packet, or nil.
function record.of(p) return records[address(p)] end

--- Nothing is known of it any more.
function record.forget(p) records[address(p)] = nil end

-- Misuse -------------------------------------------------------------------

-- What was found wrong, but for what the program went on after as policies say.
local found = {n = 0, first = nil}

--- The failure for what is wrong, at the line `at` (nil: where it is found).
function record.failure(at, fmt, ...)
  local _, err = pcall(failure.raise, "%s: %s", at or place.here(), fmt:format(...))
  found.n, found.first = found.n + 1, found.first or err.sentence
  err.misuse = true
  return err
end

--- The engine has dealt with the failure.
function record.settle(err)
  if failure.is(err) and err.misuse then found.n = found.n - 1 end
end

--- How often something was found wrong that isn't settled, and the first sentence.
function record.found() return found.n, found.first end

--- Raise it.
function record.misuse(fmt, ...) error(record.failure(nil, fmt, ...), 0) end
local misuse = record.misuse

--- The same, where the packet's record tells whose doing it is if no app is at work.
function record.misuse_of(r, fmt, ...)
  local err = record.failure(nil, fmt, ...)
  if not place.app then err.app = r.by:match("^app '(.*)'$") end
  error(err, 0)
end
local misuse_of = record.misuse_of

-- "app 'a' freed it at a.lua:12"; without a line what C has done.
local function event(what, by, at)
  return ("%s %s%s"):format(by, what, at == "" and "" or " at " .. at)
end

--- What has happened to the packet: "app 'a' freed it at a.lua:12; before, ...".
function record.history(r)
  local text = event(r.what, r.by, r.at)
  if not r.what_before then return text end
  return ("%s (before, %s)"):format(text,
    event(r.what_before, r.by_before, r.at_before))
end

--- Something happens to the packet: its state, and the event, "freed it". `by` and
--- `at` ("" for none) are who does it and where, if not who is at work. Returns its
--- record.
function record.set(p, state, what, by, at)
  local key = address(p)
  local r = records[key]
  if not r then
    r = {of = cast(packet_p, p), ours = ffi.C.pg_packet_is_ours(p)}
    records[key] = r
  elseif r.what then
    r.what_before, r.by_before, r.at_before = r.what, r.by, r.at
  end
  at = at or place.here()
  r.state, r.link, r.dropped, r.kept = state, nil, nil, nil
  r.what, r.by, r.at = what, by or place.actor(at), at
  r.owner = state == "held" and place.app or nil
  return r
end

--- The packet is new: what was before doesn't count.
function record.set_new(p, state, what, by, at)
  records[address(p)] = nil
  return record.set(p, state, what, by, at)
end

-- Links --------------------------------------------------------------------

local RING = 1024 -- slots of a link
local links = {} -- by address: {name =, link =}

--- The new link `l` has this name.
function record.add_link(l, name) links[address(l)] = {name = name, link = l} end

--- The link is freed.
function record.remove_link(l) links[address(l)] = nil end

--- "the link 'a.output -> b.input'".
function record.link_name(l)
  local entry = links[address(l)]
  return entry and ("the link '%s'"):format(entry.name) or "a link"
end

--- The packet is in the link now, by what was said to happen.
function record.put_into(r, l) r.state, r.link, r.owner = "link", address(l), nil end

--- Call f(packet) for each in the link, from slot `from` (its read cursor) on.
function record.each_in_link(l, f, from)
  local first = tonumber(bit.tobit(from or l.read))
  for i = 0, bit.tobit(l.write - first) - 1 do
    f(l.packets[bit.band(first + i, RING - 1)])
  end
  for i = 0, l.nhanded - 1 do f(l.handed[i]) end
end

-- The link that the packet is in, if it is: C may have moved it on.
local function link_of(r)
  local entry, is_there = links[r.link], false
  if not entry then return nil end
  record.each_in_link(entry.link, function (p) is_there = is_there or p == r.of end)
  return is_there and entry.link
end

-- Questions ------------------------------------------------------------------

local LENGTH = "it is %d bytes long; a packet holds 0 to 10240"

local WRONG = {
  [ffi.C.CHECK_NO_PACKET] = function () return "that pointer isn't a packet's" end,
  [ffi.C.CHECK_HEADER] = function ()
    return "somebody has written over its header, in front of its buffer"
  end,
  [ffi.C.CHECK_LENGTH] = function (p) return LENGTH:format(p.unchecked_length) end,
  [ffi.C.CHECK_OFFSET] = function (p)
    return ("its %d bytes from offset %d on end beyond its buffer of %d bytes"):format(
      p.unchecked_length, p.data_off, p.buf_len)
  end,
  [ffi.C.CHECK_GUARD] = function (p)
    return ("somebody has written beyond its buffer of %d bytes"):format(p.buf_len)
  end,
}

--- Is `p` a packet? `doing` says what it's wanted for: "packet.free".
function record.check_type(p, doing)
  if p == nil then
    misuse("%s: %s isn't a packet", doing,
      type(p) == "nil" and "nil" or "a NULL pointer")
  elseif not istype(packet_p, p) and not istype("struct packet", p) then
    local what = type(p) == "cdata" and tostring(ffi.typeof(p)) or "a " .. type(p)
    misuse("%s: %s isn't a packet", doing, what)
  end
end

--- Are the packet's length, header and surroundings as they can be?
function record.check_sound(p, doing)
  local r = record.of(p)
  local result = tonumber(ffi.C.pg_check_packet(p, r ~= nil and r.ours))
  if result == 0 then return end
  misuse("%s: %s%s", doing, WRONG[result](p),
    r and r.what and "; " .. record.history(r) or "")
end

--- Is it a packet of the one who is at work: not freed, in no link, and not gone? Those
--- that apps have emitted are the `engine`'s.
function record.check_own(p, doing, engine)
  record.check_type(p, doing)
  local r = record.of(p)
  if not r then return end
  if r.state == "freed" then
    misuse_of(r, "%s: the packet has been freed: %s", doing, record.history(r))
  elseif r.state == "link" and link_of(r) then
    misuse_of(r, "%s: the packet is in %s: %s", doing, record.link_name(link_of(r)),
      record.history(r))
  elseif r.state == "emitted" and not engine then
    misuse_of(r, "%s: the packet has been emitted: %s", doing, record.history(r))
  elseif r.state == "gone" then
    misuse_of(r, "%s: the packet isn't here any more: %s", doing, record.history(r))
  end
end

--- May its bytes and its length be looked at: is it a packet that isn't freed?
function record.check_use(p, doing)
  if p == nil then misuse("%s: the packet is a NULL pointer", doing) end
  local r = records[address(p)]
  if r and r.state == "freed" then
    misuse_of(r, "%s: the packet has been freed: %s", doing, record.history(r))
  end
end

-- Those that apps hold --------------------------------------------------------

--- The packets that are held: a list of records. Those in links aren't, though they
--- may have come there by C.
function record.held()
  local waiting, list = {}, {}
  for _, entry in pairs(links) do
    record.each_in_link(entry.link, function (p) waiting[address(p)] = true end)
  end
  for key, r in pairs(records) do
    local is_held = r.state == "held" or r.state == "emitted"
    if is_held and not waiting[key] then list[#list + 1] = r end
  end
  return list
end

jit.off(true, true)

return record
