-- SPDX-License-Identifier: Apache-2.0
-- MD5 (RFC 1321), for summary dumps. It protects nothing.

local bit = require("bit")

local md5 = {}

local band, bor, bxor, bnot = bit.band, bit.bor, bit.bxor, bit.bnot
local rol, tobit = bit.rol, bit.tobit

local SHIFTS = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}
local SINES = {}
for i = 1, 64 do SINES[i] = tobit(math.floor(math.abs(math.sin(i)) * 2 ^ 32)) end

local MIX = {
  function (x, y, z) return bor(band(x, y), band(bnot(x), z)) end,
  function (x, y, z) return bor(band(x, z), band(y, bnot(z))) end,
  function (x, y, z) return bxor(x, y, z) end,
  function (x, y, z) return bxor(y, bor(x, bnot(z))) end,
}
local WORD = {
  function (i) return i end,
  function (i) return (5 * i + 1) % 16 end,
  function (i) return (3 * i + 5) % 16 end,
  function (i) return 7 * i % 16 end,
}

local function words_of(text, at)
  local words = {}
  for i = 0, 15 do
    local a, b, c, d = text:byte(at + 4 * i, at + 4 * i + 3)
    words[i] = tobit(((d * 256 + c) * 256 + b) * 256 + a)
  end
  return words
end

local function add_block(state, words)
  local a, b, c, d = state[1], state[2], state[3], state[4]
  for i = 0, 63 do
    local round = math.floor(i / 16) + 1
    local sum = tobit(a + MIX[round](b, c, d) + words[WORD[round](i)])
    sum = tobit(sum + SINES[i + 1])
    a, d, c, b = d, c, b, tobit(b + rol(sum, SHIFTS[round][i % 4 + 1]))
  end
  state[1], state[2] = tobit(state[1] + a), tobit(state[2] + b)
  state[3], state[4] = tobit(state[3] + c), tobit(state[4] + d)
end

local function little_endian(word)
  return string.char(band(word, 255), band(bit.rshift(word, 8), 255),
    band(bit.rshift(word, 16), 255), bit.rshift(word, 24))
end

--- The 16 bytes of a text's sum.
function md5.sum(text)
  local padded = text .. "\128" .. ("\0"):rep((55 - #text) % 64)
    .. little_endian(tobit(#text * 8)) .. little_endian(math.floor(#text / 2 ^ 29))
  local state = {0x67452301, tobit(0xefcdab89), tobit(0x98badcfe), 0x10325476}
  for at = 1, #padded, 64 do add_block(state, words_of(padded, at)) end
  local bytes = {}
  for i, word in ipairs(state) do bytes[i] = little_endian(word) end
  return table.concat(bytes)
end

--- A sum in hexadecimal digits.
function md5.hex(sum)
  return (sum:gsub(".", function (c) return ("%02x"):format(c:byte()) end))
end

local CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@"

--- A sum in 22 characters, each six bits of it, from the lowest of the first byte on.
function md5.short_text(sum)
  local list = {}
  for first = 0, 127, 6 do
    local byte, shift = math.floor(first / 8), first % 8
    local two = sum:byte(byte + 1) + (sum:byte(byte + 2) or 0) * 256
    local value = math.floor(two / 2 ^ shift) % 64
    list[#list + 1] = CHARACTERS:sub(value + 1, value + 1)
  end
  return table.concat(list)
end

return md5
