-- SPDX-License-Identifier: Apache-2.0
-- Segment routing header of IPv6 (SRv6), RFC 8754. `segments` are addresses of 16
-- bytes, the last one of the way first; TLVs may follow them.
return {
  name = "srh", title = "SRH", source = "RFC 8754, section 2",
  over = {ip4 = 43},
  when = {RoutingType = 4},
  next = {field = "NextHeader", as = "ip4"},
  variable = {"segments", from = "Length"}, pad = 8,
  destination = function(header, size) -- the first segment, until it is reached
    return header:getSegmentsLeft() > 0 and size >= 24 and 8 or nil
  end,
  fields = {
    {"NextHeader", 8, default = 59},
    {"Length", 8, length = "header", unit = 8, bias = -1},
    {"RoutingType", 8, default = 4},
    {"SegmentsLeft", 8},
    {"LastEntry", 8},
    {"Flags", 8},
    {"Tag", 16},
  },
}
