-- SPDX-License-Identifier: Apache-2.0
-- AggregateIP sets the aggregate annotation to a field of the packet's headers.

local bit = require("bit")
local ffi = require("ffi")
local element = require("click.element")
local field_text = require("click.classification.ip.field_text")
local names = require("click.classification.ip.names")
local note = require("click.note")
local wire = require("click.net.wire")

local band, lshift, rshift, tobit = bit.band, bit.lshift, bit.rshift, bit.tobit
local words_t = ffi.typeof("int32_t *")
local AGGREGATE, NETWORK, TRANSPORT =
  note.AGGREGATE, note.NETWORK_HEADER, note.TRANSPORT_HEADER
local MINIMAL, WORD, WORD_BITS = 20, 4, 32
local PROTOCOL, TCP_OFFSET, UDP_HEADER = 9, 12, 8
local TCP, UDP = names.TCP, names.UDP
local FIRST_ADDRESS, BEHIND_ADDRESSES = 12 * 8, 20 * 8 -- bits of the IP header

local AggregateIP = element.define{
  name = "AggregateIP", summary = "sets the aggregate to a field of IP packets",
  division = "any",
  ports = "1/1-2", processing = "a/ah", drops = {"no such field"},
  reads = {"AGGREGATE", "NETWORK_HEADER", "TRANSPORT_HEADER"},
  arguments = {
    {"FIELD", "argument", required = true},
    {"INCREMENTAL", "bool", default = false, keyword = true},
    {"UNSHIFT_IP_ADDR", "bool", default = false, keyword = true},
  },
  handlers = {
    header = {read = function (self) return field_text.header(self.field.protocol) end},
    bit_offset = {read = function (self) return self.field.offset end},
    bit_length = {read = function (self) return self.field.length end},
    field = {read = function (self) return field_text.text(self.field) end},
  },
}

function AggregateIP:configure(a)
  local text = a.FIELD:match('^"(.*)"$') or a.FIELD
  local field, problem = field_text.parse(text)
  if not field then return self:error("%s", problem) end
  local last = field.offset + field.length - 1
  if math.floor(field.offset / WORD_BITS) ~= math.floor(last / WORD_BITS) then
    return self:error("field specification does not fit within a single word")
  elseif field.length == WORD_BITS and a.INCREMENTAL then
    return self:error("'INCREMENTAL' is incompatible with field length 32")
  end
  self.field, self.incremental = field, a.INCREMENTAL
  self.offset = math.floor(field.offset / WORD_BITS) * WORD
  self.shift, self.mask = WORD_BITS - 1 - last % WORD_BITS, tobit(2 ^ field.length - 1)
  local in_address = field.protocol == 0 and field.offset >= FIRST_ADDRESS
    and field.offset < BEHIND_ADDRESSES
  if a.UNSHIFT_IP_ADDR and in_address then
    self.mask, self.shift = lshift(self.mask, self.shift), 0
  end
end

-- Where what is behind TCP's or UDP's header begins; nil if there is none.
local function payload_of(p, at, behind, limit)
  local protocol = p.buf_addr[at + PROTOCOL]
  if protocol == UDP then return behind + UDP_HEADER end
  if protocol == TCP and behind + MINIMAL <= limit then
    return behind + lshift(rshift(p.buf_addr[behind + TCP_OFFSET], 4), 2)
  end
end

-- Where the header begins that the field is in; nil if the packet hasn't it.
local function header_of(wanted, p, at, limit)
  if wanted == 0 then return at end
  local ip, behind = p.buf_addr + at, p.note16[TRANSPORT]
  if behind == 0 or band(ip[6], 0x1f) ~= 0 or ip[7] ~= 0 then return nil end
  local protocol = ip[PROTOCOL]
  if wanted == field_text.PAYLOAD then return payload_of(p, at, behind, limit) end
  if wanted == names.TCP_OR_UDP then
    return (protocol == TCP or protocol == UDP) and behind or nil
  end
  return (wanted == field_text.TRANSPORT or protocol == wanted) and behind or nil
end

function AggregateIP:process(p)
  local at, limit = p.note16[NETWORK], p.data_off + p.length
  local from = at > 0 and at + MINIMAL <= limit
    and header_of(self.field.protocol, p, at, limit)
  if not from or from + self.offset + WORD > limit then
    if self.noutputs > 1 then return p, 2 end
    return nil, 1
  end
  local word = ffi.cast(words_t, p.buf_addr + from + self.offset)[0]
  local value = band(rshift(wire.word_of(word), self.shift), self.mask)
  if self.incremental then
    value = tobit(lshift(p.note32[AGGREGATE], self.field.length) + value)
  end
  p.note32[AGGREGATE] = value
  return p
end

return {AggregateIP}
