-- SPDX-License-Identifier: Apache-2.0
-- The header of OSPF version 2. The checksum leaves out the authentication field; so it
-- is known where that is 0, and no field of "authenticated" packets.
local function fields(checksum)
  return {
    {"Version", 8, default = 2},
    {"Type", 8, default = 4, values = {
      "hello", "database description", "link state request", "link state update",
      "link state acknowledgment",
    }},
    {"Length", 16, length = "all"},
    {"RouterID", 32, "ip4", default = "192.168.1.1"},
    {"AreaID", 32, "ip4", default = "0.0.0.0"},
    {"Checksum", 16, checksum = checksum},
    {"AuthType", 16},
    {"Authentication", 64},
  }
end

return {
  name = "ospf", title = "OSPF", source = "RFC 2328, appendix A.3.1 and D.4",
  over = {ip4 = 89},
  below = {ip4 = {Dst = "224.0.0.5", TTL = 1}, eth = {Dst = "01:00:5e:00:00:05"}},
  when = {Version = 2},
  next = {field = "Type"},
  fields = fields("all"),
  subtypes = {
    authenticated = {when = {AuthType = {1, 2}}, fields = fields()},
  },
}
