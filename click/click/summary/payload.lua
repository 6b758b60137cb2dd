-- SPDX-License-Identifier: Apache-2.0
-- Fields of summary dumps about what is behind the headers.

local ffi = require("ffi")

local md5 = require("click.summary.md5")
local note = require("click.note")
local text_of = require("click.language.text")

local ORDER = 500
local TCP, UDP, UDPLITE = 6, 17, 136
local IP_HEADER, TCP_HEADER, UDP_HEADER, MOST_HEADER = 20, 20, 8, 60

-- Where the payload probably begins and how long it probably is, in bytes from the
-- packet's first. Headers that aren't all there count as if they were.

local function header_length(protocol, is_first, offset_byte)
  if not is_first then return 0 end
  if protocol == TCP then
    local length = offset_byte and math.floor(offset_byte / 16) * 4 or 0
    return length >= TCP_HEADER and length or TCP_HEADER
  end
  return (protocol == UDP or protocol == UDPLITE) and UDP_HEADER or 0
end

local function place_in(view)
  if not view.ip or not view.transport then
    return 0, view.finish - view.start
  end
  local offset_byte = view:transport_length() >= 13 and view:byte(view.transport + 12)
  local at = view.transport
    + header_length(view:byte(view.net + 9), view:is_first(), offset_byte)
  return at - view.start, view.total - (at - view.net)
end

local function place_of(builder)
  if not (builder.is_ip or builder.is_ip6) or not builder:has_net() then return 0 end
  local at = builder:transport()
  local offset_byte = builder:transport_length() >= 13 and builder:byte(at + 12)
  return at + header_length(builder:upper(), builder:is_first(), offset_byte)
end

-- The bytes, or nil if there should be some and there are none.
local function get_bytes(view)
  local at, length = place_in(view)
  local there = view.finish - view.start
  if length ~= 0 and at >= view.p.length then return nil end
  length = math.max(0, math.min(length, there - at))
  return ffi.string(view.p.data + at, length)
end

-- Payload of `length` bytes at `at` makes a packet that is shorter than it should be:
-- the headers have options, then. They go where nothing else has set a header's length.
local function account(builder, at, length)
  if builder.is_ip6 then
    builder.wanted = math.max(builder.wanted, at + length)
    return
  elseif not builder.is_ip then
    builder.wanted = at + length
    return
  end
  local net = builder:net()
  local said = builder:half(net + 2)
  if said == 0 and builder.wanted == 0 then
    builder.wanted = at + length
    return
  end
  local missing = (said > 0 and said + net or builder.wanted) - (at + length)
  local function widen(header, length_now)
    local n = math.min(missing - missing % 4, MOST_HEADER - length_now)
    if n <= 0 or not builder:insert(header + length_now, n) then return 0 end
    missing = missing - n
    return n
  end
  local transport = builder:transport()
  if missing > 0 and builder:is_first() and builder:byte(net + 9) == TCP
      and not builder.has_tcp_header and builder:transport_length() >= TCP_HEADER
      and math.floor(builder:byte(transport + 12) / 16) == 5 then
    local n = widen(transport, TCP_HEADER)
    if n > 0 then builder:set(transport + 12, 1, (TCP_HEADER + n) * 4) end
  end
  if missing > 0 and not builder.has_ip_header and builder:byte(net) % 16 == 5 then
    local n = widen(net, IP_HEADER)
    if n > 0 then
      builder:set(net, 1, 64 + (IP_HEADER + n) / 4)
      builder:set_net(net, IP_HEADER + n)
    end
  end
end

local function prepare(builder)
  if builder:make_network() then builder:make_transport() end
  return builder.p ~= nil
end

local PAYLOAD = {
  name = "payload", order = ORDER, headers = true, text_only = true,
  get = get_bytes, text = function (value) return text_of.quote(value) end,
  parse = function (word) return text_of.unquote(word) end,
  put = function (builder, value)
    if not prepare(builder) or value == "" then return end
    account(builder, place_of(builder), #value)
    if not builder.p then return end
    local at = place_of(builder)
    local lacking = at + #value - builder.p.length
    if lacking <= 0 or builder:put(lacking) then builder:set_bytes(at, value) end
  end,
}

local LENGTH = {
  name = "payload_len", bytes = 4, order = ORDER + 1, headers = true,
  get = function (view)
    local _, length = place_in(view)
    if not view.ip or view.options.extra then
      length = length + view.p.note32[note.EXTRA_LENGTH]
    end
    return length % 2 ^ 32
  end,
  put = function (builder, value)
    if prepare(builder) then account(builder, place_of(builder), value) end
  end,
}

local function md5_field(name, text)
  return {
    name = name, headers = true, zero = ("\0"):rep(16),
    get = function (view)
      local bytes = get_bytes(view)
      return bytes and md5.sum(bytes)
    end,
    text = text, pack = function (value) return value end,
    unpack = function (bytes, at) return nil, math.min(at + 16, #bytes + 1) end,
  }
end

return function (fields)
  fields.add{PAYLOAD, LENGTH, md5_field("payload_md5", md5.short_text),
             md5_field("payload_md5_hex", md5.hex)}
  fields.also{payload_length = "payload_len"}
end
