-- SPDX-License-Identifier: Apache-2.0
-- IP6Print prints lines about each IPv6 packet, whose header is noted.

local ffi = require("ffi")
local element = require("click.element")
local note = require("click.note")
local read16 = require("net.wire.bytes").read16
local wire = require("click.net.wire")

local NETWORK = note.NETWORK_HEADER
local HEADER, SOURCE, DESTINATION = 40, 8, 24 -- bytes
local IN_LINE, IN_GROUP = 24, 4               -- bytes

local IP6Print = element.define{
  name = "IP6Print", summary = "pretty-prints IP6 packets",
  arguments = {
    {"LABEL", "string", default = ""},
    {"NBYTES", "unsigned", default = 1500, keyword = true},
    {"CONTENTS", "bool", default = false, keyword = true},
    {"ACTIVE", "bool", default = true, keyword = true},
  },
  handlers = {active = element.data("active", "bool")},
}

function IP6Print:configure(a)
  self.label = a.LABEL ~= "" and a.LABEL .. ": " or ""
  self.most, self.contents, self.active = a.NBYTES, a.CONTENTS, a.ACTIVE
end

local function header_text(ip6)
  return ("%s -> %s plen %d, next %d, hlim %d"):format(wire.ip6_text(ip6 + SOURCE),
    wire.ip6_text(ip6 + DESTINATION), read16(ip6 + 4), ip6[6], ip6[7])
end

local function dump(bytes)
  local parts = {}
  for at = 1, #bytes do
    local gap = at % IN_LINE == 1 and "\n  " or at % IN_GROUP == 1 and " " or ""
    parts[#parts + 1] = gap .. ("%02x"):format(bytes:byte(at))
  end
  return table.concat(parts)
end

function IP6Print:process(p)
  if not self.active then return p end
  local at = p.note16[NETWORK]
  if at == 0 or at + HEADER > p.data_off + p.length then
    self:say("%struncated-ip6", self.label)
    return p
  end
  local text = self.label .. header_text(p.buf_addr + at)
  if self.contents then
    text = text .. dump(ffi.string(p.data, math.min(self.most, p.length)))
  end
  self:say("%s", text)
  return p
end

return {IP6Print}
