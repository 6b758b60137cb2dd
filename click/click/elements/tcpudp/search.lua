-- SPDX-License-Identifier: Apache-2.0
-- Search finds bytes in packets. FlowStrip and FlowUnstrip are what FastClick's
-- middlebox configurations call Strip and Unstrip.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local front = require("click.net.front")
local note = require("click.note")
local standard = require("click.elements.standard.bytes")

local reject = element.reject

ffi.cdef("void *memmem(const void *, size_t, const void *, size_t);")

local halves_t, bytes_t = ffi.typeof("uint16_t *"), ffi.typeof("uint8_t *")

local Search = element.define{
  name = "Search", summary = "strips packets up to a pattern",
  ports = "1/1-2", processing = "h/h",
  arguments = {
    {"PATTERN", "string", required = true},
    {"STRIP_AFTER", "bool", default = true, keyword = true},
    {"ANNO", "anno", size = 2, keyword = true},
    {"SET_ANNO", "bool", default = true, keyword = true},
  },
  drops = {"not found"},
}

function Search:configure(a)
  if a.PATTERN == "" then return self:error("Cannot search for an empty string!") end
  self.pattern, self.size = a.PATTERN, #a.PATTERN
  self.extra = a.STRIP_AFTER and #a.PATTERN or 0
  self.to = a.SET_ANNO and (a.ANNO and note.FIRST + a.ANNO or 2 * note.PAINT2) or nil
end

function Search:process(p)
  local data = p.data
  local found = ffi.C.memmem(data, p.length, self.pattern, self.size)
  if found == nil then
    local q, o = reject(self, p)
    return q, o
  end
  local n = tonumber(ffi.cast(bytes_t, found) - data) + self.extra
  front.cut(p, n)
  if self.to then
    local skipped = ffi.cast(halves_t, p.note8 + self.to)
    skipped[0] = bit.band(skipped[0] + n, 0xffff)
  end
  return p
end

local function named(name)
  for _, class in ipairs(standard) do
    if class.name == name then return class end
  end
end

local FlowStrip = element.define{
  name = "FlowStrip", extends = named("Strip"), readdresses = true,
  summary = "removes bytes from the front of packets",
}
local FlowUnstrip = element.define{
  name = "FlowUnstrip", extends = named("Unstrip"), readdresses = true,
  summary = "puts stripped bytes back",
}

return {Search, FlowStrip, FlowUnstrip}
