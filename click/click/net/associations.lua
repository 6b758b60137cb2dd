-- SPDX-License-Identifier: Apache-2.0
-- Security associations of IPsec tunnels: keys, and what is counted against replays.
-- A packet's annotation has its association's number.

local bit = require("bit")
local ffi = require("ffi")
local C = require("core.declare")("native/ip.h")
local random = require("core.lib.random")

local associations = {}

local MOST_WINDOW = 64 -- packets
local keys_t = ffi.typeof("struct esp_keys")

local all, last = {}, 0

--- The association of that number, or nil.
function associations.find(number) return all[number] end

--- A new one; both keys are strings of 16 bytes. Counts begin with `start`; packets may
--- be late by less than `window` others. Or nil and the problem.
function associations.add(spi, cipher_key, auth_key, start, window)
  local keys = keys_t()
  if not C.pg_esp_prepare(keys, cipher_key, auth_key) then
    return nil, "this CPU has no instructions for AES"
  end
  last = last + 1
  local sa = {
    number = last, spi = spi, keys = keys, start = start, count = start,
    window = math.min(window, MOST_WINDOW), highest = start, seen = 0ULL,
    chance = ffi.new("uint8_t[8]", random.random_bytes_from_dev_urandom(8)),
    vector = ffi.new("uint32_t[4]"), vectors = 0,
  }
  all[last] = sa
  return sa
end

--- Forget it.
function associations.remove(sa) all[sa.number] = nil end

--- The number of the next packet that is sent.
function associations.next_number(sa)
  local number = sa.count
  sa.count = number == 2 ^ 32 - 1 and sa.start or number + 1
  return number
end

local ZERO = ffi.new("uint8_t[8]")

--- Bytes (8 of them are used) that nobody who doesn't know the key can foretell; after
--- a restart, with any seed, others.
function associations.next_vector(sa)
  local vector, chance = sa.vector, sa.chance
  sa.vectors = sa.vectors + 1
  ffi.copy(vector, chance, 8)
  vector[2], vector[3] = sa.vectors % 2 ^ 32, math.floor(sa.vectors / 2 ^ 32)
  C.pg_esp_encrypt(sa.keys, ffi.cast("uint8_t *", vector), 16, ZERO)
  return vector
end

--- May a packet with this number come (RFC 2401, appendix C)? If not: why. As in Click,
--- the number that counts begin with is that of a peer that has begun anew.
function associations.refuse(sa, number)
  if number == 0 then return "This packet has no number" end
  if number == sa.start and sa.highest ~= sa.start then
    sa.highest, sa.seen = number, 1ULL
  elseif number > sa.highest then
    local by = number - sa.highest
    sa.seen = by < MOST_WINDOW and bit.bor(bit.lshift(sa.seen, by), 1ULL) or 1ULL
    sa.highest = number
  else
    local late = sa.highest - number
    if late >= sa.window then return "This packet is too old to be accepted" end
    local mark = bit.lshift(1ULL, late)
    if bit.band(sa.seen, mark) ~= 0 then return "This packet is already seen..." end
    sa.seen = bit.bor(sa.seen, mark)
  end
end

return associations
