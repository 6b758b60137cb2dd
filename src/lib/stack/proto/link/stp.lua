-- SPDX-License-Identifier: Apache-2.0
-- Spanning tree's BPDUs behind LLC: a configuration BPDU; "rst" is rapid spanning
-- tree's, "tcn" the notification of a change. Times count 1/256 s.
local HEAD = {
  {"ProtocolID", 16},
  {"Version", 8},
  {"Type", 8},
}

local function with(fields, ...)
  local list = {unpack(HEAD)}
  for _, field in ipairs(fields) do list[#list + 1] = field end
  for _, field in ipairs{...} do list[#list + 1] = field end
  return list
end

local BODY = {
  {"Flags", 8, at = "ChangeAck"},
  {"ChangeAck", 1, "flag"},
  {"Agreement", 1, "flag"},
  {"Forwarding", 1, "flag"},
  {"Learning", 1, "flag"},
  {"PortRole", 2},
  {"Proposal", 1, "flag"},
  {"Change", 1, "flag"},
  {"RootPriority", 16, default = 0x8000},
  {"RootMac", 48, "mac", default = "02:00:00:00:00:01"},
  {"RootPathCost", 32},
  {"BridgePriority", 16, default = 0x8000},
  {"BridgeMac", 48, "mac", default = "02:00:00:00:00:01"},
  {"PortID", 16, default = 0x8001},
  {"MessageAge", 16},
  {"MaxAge", 16, default = 20 * 256},
  {"HelloTime", 16, default = 2 * 256},
  {"ForwardDelay", 16, default = 15 * 256},
}

return {
  name = "stp", title = "STP", source = "IEEE 802.1D-2004, clause 9.3",
  over = {llc = 0x42},
  below = {llc = {SSAP = 0x42}, eth = {Dst = "01:80:c2:00:00:00"}},
  when = {ProtocolID = 0},
  fields = with(BODY),
  subtypes = {
    rst = {
      when = {Type = 2, Version = 2},
      fields = with(BODY, {"Version1Length", 8}),
    },
    tcn = {when = {Type = 0x80}, fields = HEAD},
  },
}
