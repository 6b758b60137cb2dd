-- SPDX-License-Identifier: Apache-2.0
-- IPv6 routing header of any type, RFC 8200 ("srh" is the segment routing header). By
-- default of type 253, for experiments (RFC 4727), with no segments left: to be
-- ignored.
return {
  name = "routing", title = "Routing", source = "RFC 8200, section 4.4",
  over = {ip4 = 43},
  next = {field = "NextHeader", as = "ip4"},
  variable = {"data", from = "Length"}, pad = 8,
  destination = function(header, size) -- types 0 and 2 have it as the last address
    local known = header:getRoutingType() == 0 or header:getRoutingType() == 2
    return known and header:getSegmentsLeft() > 0 and size >= 24 and size - 16 or nil
  end,
  fields = {
    {"NextHeader", 8, default = 59},
    {"Length", 8, length = "header", unit = 8, bias = -1},
    {"RoutingType", 8, default = 253},
    {"SegmentsLeft", 8},
    {"Reserved", 32},
  },
}
