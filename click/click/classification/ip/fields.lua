-- SPDX-License-Identifier: Apache-2.0
-- Fields of IP packets that patterns compare: where they are, and what they are called.

local fields = {}

local made = {}

--- The field of `length` bits from bit `offset` on of the IP header, or, with a
--- `protocol`, of the header behind it. The same for the same numbers.
function fields.at(protocol, offset, length)
  local key = ("%s %d %d"):format(protocol, offset, length)
  local field = made[key]
  if not field then
    field = {protocol = protocol, offset = offset, length = length}
    made[key] = field
  end
  return field
end

local function named(text, protocol, offset, length)
  local field = fields.at(protocol, offset, length)
  field.text = text
  return field
end

fields.TOS = named("ip tos", nil, 8, 8)
fields.ICMP_TYPE = named("icmp type", 1, 0, 8)

--- The fields that have words of their own in patterns. (RFC 791, 792, 793)
fields.named = {
  vers = named("ip vers", nil, 0, 4), hl = named("ip hl", nil, 4, 4),
  tos = fields.TOS, dscp = named("ip dscp", nil, 8, 6),
  len = named("ip len", nil, 16, 16),
  id = named("ip id", nil, 32, 16), ttl = named("ip ttl", nil, 64, 8),
  win = named("tcp win", 6, 112, 16), type = fields.ICMP_TYPE,
}

local PROTOCOLS = {
  [1] = "icmp", [2] = "igmp", [4] = "ipip", [6] = "tcp", [17] = "udp", [256] = "tcpudp",
  [258] = "transp",
}

--- A transport protocol, in messages.
function fields.protocol_text(protocol)
  return PROTOCOLS[protocol] or "ip proto " .. protocol
end

local KINDS = {
  host = "ip host", net = "ip net", ether = "ether host", tcpopt = "tcp opt",
  frag = "ip frag", unfrag = "ip unfrag", ect = "ip ect", ce = "ip ce",
}

--- A kind of primitive, in messages.
function fields.kind_text(kind)
  if type(kind) == "string" then return KINDS[kind] or kind end
  if not kind then return "<none>" end
  if kind.text then return kind.text end
  return (kind.protocol and fields.protocol_text(kind.protocol) or "ip") .. "[...]"
end

return fields
