-- SPDX-License-Identifier: Apache-2.0
-- Fields of summary dumps from the IP header. (RFC 791, 2474, 3168)

local bit = require("bit")

local addresses = require("click.arguments.addresses")
local ip_options = require("click.summary.ip_options")
local options = require("click.summary.options")
local note = require("click.note")
local wire = require("click.net.wire")

local ORDER = 300
local DF, MF, OFFSET = 0x4000, 0x2000, 0x1fff
local IP_HEADER = 20

-- A field of so many bytes at `offset`, whole.
local function plain(name, bytes, offset, order)
  return {
    name = name, bytes = bytes, order = order or ORDER, headers = true,
    get = function (view)
      if not view:has_ip(offset + bytes) then return nil end
      if bytes == 1 then return view:byte(view.net + offset) end
      if bytes == 2 then return view:half(view.net + offset) end
      return view:word(view.net + offset)
    end,
    put = function (builder, value)
      if builder:make_ip() then builder:set(builder:net() + offset, bytes, value) end
    end,
  }
end

local function with(field, extra)
  for key, value in pairs(extra) do field[key] = value end
  return field
end

local address_text = wire.ip_text

local ADDRESS = {
  text = address_text,
  parse = function (text, builder) return addresses.ip(text, {}, builder.element) end,
}

-- Type of service: `mask` of it, moved down by `shift`.
local function tos_part(name, mask, shift, extra)
  local field = plain(name, 1, 1)
  local get = field.get
  function field.get(view)
    local tos = get(view)
    return tos and bit.rshift(bit.band(tos, mask), shift)
  end
  function field.put(builder, value)
    if not builder:make_ip() then return end
    local at = builder:net() + 1
    local others = bit.band(builder:byte(at), 255 - mask)
    builder:set(at, 1, others + bit.band(bit.lshift(value, shift), mask))
  end
  return with(field, extra or {})
end

local ECN_TEXTS = {[0] = "no", "ect1", "ect2", "ce"}
local ECN = {["0"] = 0, ["1"] = 1, ["2"] = 2, ["3"] = 3, no = 0, ect1 = 1, ect2 = 2,
             ce = 3, CE = 3, ["ECT(1)"] = 1, ["ECT(0)"] = 2}

-- Fragments: as a letter, or as an offset in bytes with "+" (more) and "!" (don't).

local FRAGMENTS = {["."] = 0, ["!"] = DF, F = MF, f = 100} -- 100: any offset

local function parse_fragment(text, builder)
  if FRAGMENTS[text] then return FRAGMENTS[text] end
  local digits, flags = text:match("^(%d*)([!+]*)$")
  if not digits or text == "" then return nil end
  local value = tonumber(digits) or 0
  if builder.version > 0 then value = math.floor(value / 8) end
  if flags:find("!", 1, true) then value = bit.bor(value, DF) end
  if flags:find("+", 1, true) then value = bit.bor(value, MF) end
  return value
end

local function fragment_letter(value)
  if bit.band(value, OFFSET) > 0 then return "f" end
  if bit.band(value, MF) > 0 then return "F" end
  return bit.band(value, DF) > 0 and "!" or "."
end

local function fragment_offset(value)
  return bit.band(value, OFFSET) * 8 .. (bit.band(value, MF) > 0 and "+" or "")
    .. (bit.band(value, DF) > 0 and "!" or "")
end

local PROTOCOLS = {T = 6, U = 17, I = 1}
local LETTERS = {[6] = "T", [17] = "U", [1] = "I"}

-- Header length and options ---------------------------------------------------------

-- Make the IP header at least `length` bytes long, with zeros (end of options).
local function lengthen(builder, length)
  local net = builder:net()
  local own = builder:byte(net) % 16 * 4
  if length <= own then return true end
  if not builder:put(length - own) then return false end
  builder:set_net(net, length)
  builder:set(net, 1, 64 + length / 4)
  return true
end

local function round_up(n) return n + (-n) % 4 end

local HEADER_LENGTH = {
  name = "ip_hl", bytes = 1, order = ORDER - 1, headers = true,
  get = function (view) return view:has_ip(1) and view.header or nil end,
  put = function (builder, value)
    if not builder:make_ip() then return end
    builder.has_ip_header = true
    local length = round_up(value)
    if lengthen(builder, length) then
      builder:set(builder:net(), 1, 64 + math.floor(length / 4) % 16)
    end
  end,
}

local OPTIONS = {
  name = "ip_opt", order = ORDER, headers = true, zero = "",
  get = function (view)
    if not view:has_ip(view.header or IP_HEADER) then return nil end
    local bytes = {}
    for at = view.net + IP_HEADER, view.net + view.header - 1 do
      bytes[#bytes + 1] = string.char(view:byte(at))
    end
    return table.concat(bytes)
  end,
  text = function (value) return value == "" and "." or ip_options.text(value) end,
  parse = function (text) return ip_options.parse(text) end,
  put = function (builder, value)
    if not builder:make_ip() then return end
    builder.has_ip_header = true
    if value == "" then return end
    if lengthen(builder, IP_HEADER + round_up(#value)) then
      builder:set_bytes(builder:net() + IP_HEADER, value .. ("\0"):rep(-#value % 4))
    end
  end,
  pack = options.pack, unpack = options.unpack,
}

-- Lengths ---------------------------------------------------------------------------

local LENGTH = {
  name = "ip_len", bytes = 4, order = ORDER + 1, headers = true,
  get = function (view)
    local length = view.ip and view.total or view.finish - view.start
    return length + (view.options.extra and view.p.note32[note.EXTRA_LENGTH] or 0)
  end,
  put = function (builder, value)
    if builder:make_ip() then builder.wanted = builder:net() + value end
  end,
}

local CAPTURE_LENGTH = {
  name = "ip_capture_len", bytes = 4, order = 502, headers = true,
  get = function (view)
    if not view.ip then return view.finish - view.start end
    return math.min(view.total, view:network_length())
  end,
  put = function (builder) builder:make_ip() end, -- it is what the packet has
}

return function (fields)
  fields.add{
    with(plain("ip_src", 4, 12), ADDRESS),
    with(plain("ip_dst", 4, 16), ADDRESS),
    plain("ip_tos", 1, 1), tos_part("ip_dscp", 0xfc, 2),
    tos_part("ip_ecn", 3, 0, {
      text = function (value) return ECN_TEXTS[value] end,
      parse = function (text) return ECN[text] end,
    }),
    plain("ip_ttl", 1, 8),
    with(plain("ip_frag", 2, 6, ORDER - 2), {
      text = fragment_letter, parse = parse_fragment,
      pack = function (value) return fragment_letter(value) end,
      unpack = function (text, at)
        return FRAGMENTS[text:sub(at, at)], math.min(at, #text) + 1
      end,
      zero = 0,
    }),
    with(plain("ip_fragoff", 2, 6, ORDER - 1), {
      text = fragment_offset, parse = parse_fragment,
    }),
    plain("ip_id", 2, 4), plain("ip_sum", 2, 10, ORDER + 2),
    with(plain("ip_proto", 1, 9), {
      put = function (builder, value)
        if not builder:make_network() then return end
        builder:set(builder:net() + (builder.is_ip6 and 6 or 9), 1, value)
      end,
      text = function (value) return LETTERS[value] or tostring(value) end,
      parse = function (text) return PROTOCOLS[text] or fields.natural(text, 1) end,
    }),
    HEADER_LENGTH, LENGTH, CAPTURE_LENGTH, OPTIONS,
  }
  fields.also{length = "ip_len", ip_p = "ip_proto"}
end
