-- SPDX-License-Identifier: Apache-2.0
-- Random bytes: the kernel's, or after randomseed(n), a sequence that repeats.

local ffi = require("ffi")
local ctype = require("core.lib.ctype")
local failure = require("core.lib.failure")

local random = {}

local function byte_array(count)
  return ffi.new(ctype.array_of("uint8_t", count))
end

--- An array of C, uint8_t[count], from /dev/urandom; fit for keys.
function random.random_bytes_from_dev_urandom(count)
  local f, err = io.open("/dev/urandom", "rb")
  if not f then failure.raise("no random bytes: %s", err) end
  f:setvbuf("no")
  local data = count == 0 and "" or f:read(count)
  f:close()
  if not data or #data < count then failure.raise("/dev/urandom gave too few bytes") end
  local bytes = byte_array(count)
  ffi.copy(bytes, data, count)
  return bytes
end

--- The same from math.random; not fit for keys.
function random.random_bytes_from_math_random(count)
  local bytes = byte_array(count)
  for i = 0, count - 1 do bytes[i] = math.random(0, 255) end
  return bytes
end

local source = random.random_bytes_from_dev_urandom

--- uint8_t[count], from the source that randomseed has chosen; at first the kernel.
function random.random_bytes(count)
  return source(count)
end

--- With a number (or its text), make math.random and random_bytes repeat the sequence
--- of that seed, and say so on stderr. Else seed math.random from the kernel, whose
--- bytes random_bytes then gives. Returns the seed.
function random.randomseed(seed)
  seed = tonumber(seed)
  if seed then
    io.stderr:write(("Random numbers repeat: they start from the seed %d.\n")
      :format(seed))
    source = random.random_bytes_from_math_random
  else
    source = random.random_bytes_from_dev_urandom
    local bytes = source(4)
    seed = bytes[0] + 256 * (bytes[1] + 256 * (bytes[2] + 256 * bytes[3]))
  end
  math.randomseed(seed)
  return seed
end

--- A string of `length` random bytes.
function random.random_data(length)
  return ffi.string(random.random_bytes(length), length)
end

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
local BITS_PER_CHARACTER = 6

--- A string of letters, digits, "_" and "-" with at least `entropy` (160) random bits.
function random.random_printable_string(entropy)
  local length = math.ceil((entropy or 160) / BITS_PER_CHARACTER)
  return (random.random_data(length):gsub(".", function(c)
    local index = c:byte() % #ALPHABET + 1
    return ALPHABET:sub(index, index)
  end))
end

return require("core.lib.arguments").guard(random, "lib", {
  random_bytes = "count", random_data = "count", random_printable_string = "number?",
  random_bytes_from_dev_urandom = "count", random_bytes_from_math_random = "count",
})
