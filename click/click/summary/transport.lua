-- SPDX-License-Identifier: Apache-2.0
-- Fields of summary dumps from TCP, UDP and ICMP headers. (RFC 768, 792, 793)

local bit = require("bit")

local icmp = require("click.summary.icmp")
local options = require("click.summary.options")
local tcp_options = require("click.summary.tcp_options")

local ORDER = 400
local TCP, UDP, DCCP, UDPLITE = 6, 17, 33, 136
local HAVE_PORTS = {[TCP] = true, [UDP] = true, [DCCP] = true, [UDPLITE] = true}
local TCP_OR_UDP = 256
local TCP_HEADER, UDP_HEADER = 20, 8

local function has_ports(view, length)
  return view.ip and view.transport and view:network_length() > view.header
    and view:is_first() and HAVE_PORTS[view:byte(view.net + 9)]
    and view:transport_length() >= length
end

local function port(name, offset)
  return {
    name = name, bytes = 2, order = ORDER, headers = true,
    get = function (view)
      if has_ports(view, offset + 2) then return view:half(view.transport + offset) end
      view:missing(TCP_OR_UDP, offset + 2)
    end,
    put = function (builder, value)
      if not builder:make_network() or not builder:make_transport() then return end
      local protocol = builder:upper()
      if protocol ~= 0 and not HAVE_PORTS[protocol] then return end
      if builder:extend_transport(offset + 2) then
        builder:set(builder:transport() + offset, 2, value)
      end
    end,
  }
end

local UDP_LENGTH = {
  name = "udp_len", bytes = 4, order = ORDER, headers = true,
  get = function (view)
    return view:has("udp", UDP, 6) and view:half(view.transport + 4) or nil
  end,
  put = function (builder, value)
    if not builder:make_network() or not builder:make_transport() then return end
    local protocol = builder:upper()
    if protocol ~= 0 and protocol ~= UDP and protocol ~= UDPLITE then return end
    if builder:extend_transport(UDP_HEADER) then
      builder:set(builder:transport() + 4, 2, value)
    end
  end,
}

-- TCP -------------------------------------------------------------------------------

local function make_tcp(builder)
  return builder:make_network(TCP) and builder:make_transport()
    and builder:extend_transport(TCP_HEADER)
end

local function tcp_number(name, bytes, offset)
  return {
    name = name, bytes = bytes, order = ORDER, headers = true,
    get = function (view)
      if not view:has("tcp", TCP, offset + bytes) then return nil end
      if bytes == 2 then return view:half(view.transport + offset) end
      return view:word(view.transport + offset)
    end,
    put = function (builder, value)
      if make_tcp(builder) then
        builder:set(builder:transport() + offset, bytes, value)
      end
    end,
  }
end

local FLAGS = "FSRPAUECN"
local FLAG_BITS = {F = 1, S = 2, R = 4, P = 8, A = 16, U = 32, E = 64, X = 64, C = 128,
                   W = 128, Y = 128, N = 256}

local function flags_text(value)
  if value == 0x18 then return "PA" end
  local letters = {}
  for i = 1, #FLAGS do
    if bit.band(value, 2 ^ (i - 1)) > 0 then letters[#letters + 1] = FLAGS:sub(i, i) end
  end
  return letters[1] and table.concat(letters) or "."
end

local function parse_flags(text)
  if text == "." then return 0 end
  local number = text:find("^%d+$") and tonumber(text)
  if number then return number < 0x1000 and number or nil end
  local value = 0
  for letter in text:gmatch(".") do
    if not FLAG_BITS[letter] then return nil end
    value = bit.bor(value, FLAG_BITS[letter])
  end
  return text ~= "" and value or nil
end

local TCP_FLAGS = {
  name = "tcp_flags", bytes = 1, order = ORDER, headers = true,
  text = flags_text, parse = parse_flags,
  get = function (view)
    if not view:has("tcp", TCP, 14) then return nil end
    return view:half(view.transport + 12) % 512
  end,
  put = function (builder, value)
    if not make_tcp(builder) then return end
    local at = builder:transport() + 12
    local words = bit.band(builder:byte(at), 0xf0)
    builder:set(at, 2, words * 256 + value % 4096)
  end,
}

-- Make the header at least `length` bytes long, with zeros (end of options).
local function lengthen(builder, length)
  local at = builder:transport()
  local own = math.floor(builder:byte(at + 12) / 16) * 4
  if length > own then
    if not builder:extend_transport(length) then return false end
    builder:set(at + 12, 1, length / 4 * 16 + builder:byte(at + 12) % 16)
  end
  return true
end

local function round_up(n) return n + (-n) % 4 end

local TCP_LENGTH = {
  name = "tcp_off", bytes = 1, order = ORDER - 1, headers = true,
  get = function (view)
    if not view:has("tcp", TCP, 13) then return nil end
    return math.floor(view:byte(view.transport + 12) / 16) * 4
  end,
  put = function (builder, value)
    if not make_tcp(builder) then return end
    local length = round_up(value)
    if lengthen(builder, length) then
      local at = builder:transport() + 12
      builder:set(at, 1, length / 4 % 16 * 16 + builder:byte(at) % 16)
    end
  end,
}

local TIME_ALONE = "\1\1\8\10"

-- The bytes of the options, or nil if they aren't all there. `but_time`: a header that
-- has a timestamp alone has none.
local function option_bytes(view, but_time)
  local length = view.tcp and view:transport_length() or 0
  local words = length >= 13 and math.floor(view:byte(view.transport + 12) / 16)
  local bytes = {}
  local function read(n)
    for i = 1, n do
      bytes[i] = string.char(view:byte(view.transport + TCP_HEADER + i - 1))
    end
    return table.concat(bytes)
  end
  if words and words <= 5 then return "" end
  local may_be_time = but_time and words == 8 and length >= 24
  if may_be_time and read(4) == TIME_ALONE then return "" end
  if words and length >= words * 4 then return read(words * 4 - TCP_HEADER) end
  view:missing(TCP, length + 1)
end

local function options_field(name, set, order)
  return {
    name = name, order = order, headers = true, zero = "",
    get = function (view) return option_bytes(view, set ~= "all") end,
    text = function (value)
      return value == "" and "." or tcp_options.text(value, set)
    end,
    parse = function (text) return tcp_options.parse(text, set) end,
    put = function (builder, value)
      if not make_tcp(builder) then return end
      builder.has_tcp_header = true
      if value == "" then return end
      if lengthen(builder, TCP_HEADER + round_up(#value)) then
        builder:set_bytes(builder:transport() + TCP_HEADER,
          value .. ("\0"):rep(-#value % 4))
      end
    end,
    pack = options.pack, unpack = options.unpack,
  }
end

return function (fields)
  fields.add{
    port("sport", 0), port("dport", 2), UDP_LENGTH,
    tcp_number("tcp_seq", 4, 4), tcp_number("tcp_ack", 4, 8),
    tcp_number("tcp_window", 2, 14), tcp_number("tcp_urp", 2, 18),
    TCP_FLAGS, TCP_LENGTH,
    options_field("tcp_opt", "all", ORDER + 3),
    options_field("tcp_ntopt", "not_time", ORDER + 2),
    options_field("tcp_sack", "sack", ORDER + 1),
  }
  fields.also{tcp_seqno = "tcp_seq", tcp_ackno = "tcp_ack", tcp_win = "tcp_window"}
  icmp(fields)
end
