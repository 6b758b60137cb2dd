-- SPDX-License-Identifier: Apache-2.0
-- L2TPv3 over IP, RFC 3931, section 4.1.1, with a cookie of 64 bits as in RFC 8159
-- (keyed IPv6 tunnel, also Snabb's); the peers agree on a cookie's size, it isn't in
-- the packet: the other sizes are to be asked for by subType.

local SESSION = {"SessionID", 32, default = 0xffffffff}

return {
  name = "l2tpv3", title = "L2TPv3", source = "RFC 3931, section 4.1.1; RFC 8159",
  over = {ip4 = 115},
  next = function (header) -- session 0 carries control messages
    if header:getSessionID() ~= 0 then return "eth" end
  end,
  fields = {SESSION, {"Cookie", 64}},
  subtypes = {
    cookie32 = {fields = {SESSION, {"Cookie", 32}}},
    cookie0 = {fields = {SESSION}},
  },
}
