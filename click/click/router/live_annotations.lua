-- SPDX-License-Identifier: Apache-2.0
-- Which annotations elements of a router look at, as their classes say (`reads`, see
-- click.element). Those that none looks at needn't be cleared of packets that come in.

local element = require("click.element")
local note = require("click.note")

local live_annotations = {}

local HEADERS = {
  MAC_HEADER = {"note16", note.MAC_HEADER},
  NETWORK_HEADER = {"note16", note.NETWORK_HEADER},
  TRANSPORT_HEADER = {"note16", note.TRANSPORT_HEADER},
  PACKET_TYPE = {"note8", note.PACKET_TYPE}, THREAD = {"note8", note.THREAD},
  TIMESTAMP = {"note64", note.TIMESTAMP},
}
local ARRAYS = {"note8", "note16", [4] = "note32", [8] = "note64"} -- by size

-- What the class says whose process() or pull() the element has: a list, or nil.
local function reads_of(e)
  local at = e.class
  while at and at ~= element.Base do
    local reads = rawget(at, "reads")
    if type(reads) == "function" then return reads(e) end
    if reads then return reads end
    if rawget(at, "process") or rawget(at, "make_process") or rawget(at, "pull") then
      return nil
    end
    at = rawget(at, "extends")
  end
end

-- Add where the annotation is, of `size` bytes at Click's `offset`, to the set, as
-- elements look at it: LuaJIT then knows the value that was written.
local function add(set, offset, size)
  if ARRAYS[size] and offset % size == 0 then
    set[("%s[%d]"):format(ARRAYS[size], (note.FIRST + offset) / size)] = true
    return
  end
  for i = offset, offset + size - 1 do
    set[("note8[%d]"):format(note.FIRST + i)] = true
  end
end

--- What elements of the router look at: a set of texts as "note8[6]"; or nil, if one
--- doesn't say.
function live_annotations.by(router)
  local set = {}
  for _, e in ipairs(router.elements) do
    if e.ninputs + e.noutputs > 0 then
      local reads = reads_of(e)
      if not reads then return nil end
      for _, what in ipairs(reads) do
        local header = HEADERS[what]
        if header then set[("%s[%d]"):format(header[1], header[2])] = true
        elseif type(what) == "table" then add(set, what[1], what[2])
        else add(set, note.find(what)) end
      end
    end
  end
  return set
end

--- A function (to, from) that notes the same of one packet as of another, as far as
--- elements of the router ask for it.
function live_annotations.copier(router)
  local set = live_annotations.by(router)
  if not set then return note.copy end
  local lines = {}
  for place in pairs(set) do
    lines[#lines + 1] = ("to.%s = from.%s"):format(place, place)
  end
  table.sort(lines)
  return loadstring(("return function (to, from) %s end"):format(
    table.concat(lines, "; ")))()
end

local MAC = ("note16[%d]"):format(note.MAC_HEADER)

--- A function of a packet that comes in, which clears what is noted of it, and notes
--- that its MAC header is where it begins, as far as elements of the router ask for
--- that; or nil, if there is nothing to do.
function live_annotations.clearer(router)
  local set = live_annotations.by(router)
  if not set then
    local clear, at = note.clear, note.MAC_HEADER
    return function (p)
      clear(p)
      p.note16[at] = p.data_off
    end
  end
  local lines = {}
  for place in pairs(set) do
    lines[#lines + 1] = ("p.%s = %s"):format(place, place == MAC and "p.data_off" or 0)
  end
  if #lines == 0 then return nil end
  table.sort(lines)
  return loadstring(("return function (p) %s end"):format(table.concat(lines, "; ")))()
end

return live_annotations
