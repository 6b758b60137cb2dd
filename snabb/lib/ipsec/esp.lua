-- SPDX-License-Identifier: Apache-2.0
-- ESP (RFC 4303) with AES-GCM (RFC 4106) and extended sequence numbers, under the names
-- of Snabb's lib.ipsec.esp: packets of IPv6 in transport mode, anything in tunnel mode.
-- No key gets an IV twice, as lib.ipsec.iv_store counts them beyond restarts.

local ffi = require("ffi")
require("core.native") -- track_seq_no and check_seq_no are C of Perigee's
local arguments = require("core.lib.arguments")
local aes_gcm = require("lib.ipsec.aes_gcm")
local failure = require("core.failure")
local iv_store = require("lib.ipsec.iv_store")
local lib = require("core.lib")
local logger = require("lib.logger")
local packet = require("core.packet")
local seq_no_t = require("lib.ipsec.seq_no_t")

ffi.cdef[[
void *memmove(void *, const void *, size_t);
uint64_t track_seq_no(uint32_t, uint32_t, uint64_t, uint8_t *, uint32_t);
int64_t check_seq_no(uint32_t, uint64_t, uint8_t *, uint32_t);
]]

local C = ffi.C
local band, rshift, tobit = bit.band, bit.rshift, bit.tobit
local htonl, ntohl = lib.htonl, lib.ntohl
local words_t = ffi.typeof("uint32_t *")

local esp = {PROTOCOL = 50}

local ETHERNET_AND_IP = 14 + 40 -- bytes before ESP in transport mode
local PAYLOAD_LENGTH, NEXT_HEADER = 18, 20 -- places in a frame
local HEADER, IV, TAIL, TAG = 8, 8, 2, 16
local OVERHEAD = HEADER + IV + TAIL + TAG
local ALIGNMENT = 4 -- RFC 4303, section 2.4
local LONGEST = packet.max_payload

local CIPHERS = {["aes-gcm-16-icv"] = aes_gcm.aes_128_gcm,
                 ["aes-256-gcm-16-icv"] = aes_gcm.aes_256_gcm}

-- How many bytes `size` lacks to a multiple.
local function padding(multiple, size) return band(-size, multiple - 1) end

local function whole(what, value, least, most)
  return arguments.whole(what .. " of ESP", value, least, most)
end

local function new(class, conf)
  arguments.check("ESP's configuration", "table", conf)
  local cipher = CIPHERS[conf.aead]
  if not cipher then
    failure.usage("ESP has no cipher '%s'; it has aes-gcm-16-icv and "
      .. "aes-256-gcm-16-icv", tostring(conf.aead))
  end
  whole("the SPI", conf.spi, 0, 2 ^ 32 - 1)
  return setmetatable({
    cipher = cipher:new(conf.spi, conf.key, conf.salt), spi = conf.spi,
    seq = ffi.new(seq_no_t),
  }, class)
end

-- Sealing -------------------------------------------------------------------------

local Encrypt = {}
Encrypt.__index = Encrypt
esp.encrypt = Encrypt

local function reserve(self)
  self.iv[0], self.last_iv = iv_store.reserve()
  self.iv[0] = self.iv[0] - 1
end

--- encrypt:new{spi=, aead=, key=, salt=}: one end's sender. Key and salt are
--- hexadecimal digits. Fails where no file can tell which IVs were used. `fresh_key`:
--- the key was made for this sender alone and is gone with it, so that IVs begin with 1
--- and no file is needed.
function Encrypt:new(conf)
  local o = new(self, conf)
  o.iv = ffi.new("uint64_t[1]")
  if conf.fresh_key then
    o.last_iv = 0xffffffffffffffffULL
  else
    reserve(o)
  end
  return o
end

-- Has it an IV left, or are there others for it? If not, it is asked for each packet:
-- the disk may be there again.
local function has_iv(self) return self.iv[0] < self.last_iv or pcall(reserve, self) end

-- Encrypt `size` bytes at `data`, where the next header is to stand behind; ESP's
-- header goes to `header`. The tag comes behind.
local function seal(self, header, data, size, next_header)
  local pad = padding(ALIGNMENT, size + TAIL)
  for i = 0, pad - 1 do data[size + i] = i + 1 end
  data[size + pad], data[size + pad + 1] = pad, next_header
  local seq, iv = self.seq, self.iv
  seq.no = seq.no + 1
  iv[0] = iv[0] + 1
  local low = seq:low()
  local words = ffi.cast(words_t, header)
  words[0], words[1] = htonl(self.spi), htonl(low)
  ffi.copy(header + HEADER, iv, IV)
  local whole_size = size + pad + TAIL
  self.cipher:encrypt(data, iv, low, seq:high(), data, whole_size, data + whole_size)
end

local function grown(size) return size + OVERHEAD + padding(ALIGNMENT, size + TAIL) end

--- The frame, an Ethernet frame of IPv6 without extension headers, with its payload in
--- ESP; nil if it is too short or too long, or no IV is left.
function Encrypt:encapsulate_transport6(p)
  local size = p.length - ETHERNET_AND_IP
  if size < 0 or ETHERNET_AND_IP + grown(size) > LONGEST or not has_iv(self) then
    return nil
  end
  local sealed = grown(size)
  p = packet.resize(p, ETHERNET_AND_IP + sealed)
  local data = p.data
  local header = data + ETHERNET_AND_IP
  C.memmove(header + HEADER + IV, header, size)
  seal(self, header, header + HEADER + IV, size, data[NEXT_HEADER])
  data[NEXT_HEADER] = esp.PROTOCOL
  data[PAYLOAD_LENGTH], data[PAYLOAD_LENGTH + 1] = rshift(sealed, 8), band(sealed, 255)
  return p
end

--- The packet as ESP's payload, with ESP's header first; nil if it is too long, or no
--- IV is left.
function Encrypt:encapsulate_tunnel(p, next_header)
  local size = tobit(p.length)
  if grown(size) > LONGEST or not has_iv(self) then return nil end
  p = packet.shiftright(p, HEADER + IV)
  p = packet.resize(p, grown(size))
  local header = p.data
  seal(self, header, header + HEADER + IV, size, next_header)
  return p
end

-- Opening -------------------------------------------------------------------------

local Decrypt = {}
Decrypt.__index = Decrypt
esp.decrypt = Decrypt

local SMALLEST = grown(0)
local BEHIND_HEADER = HEADER + IV

--- decrypt:new{spi=, aead=, key=, salt=, ...}: one end's receiver. `window_size`: how
--- far behind the highest sequence number one may be (128). After `resync_threshold`
--- (1,024) packets in a row that were refused, `resync_attempts` (8) upper halves of
--- the sequence number above the present one are tried. `auditing`: log packets that
--- are refused. `wrong_spi` counts packets of other associations, which change nothing.
function Decrypt:new(conf)
  local o = new(self, conf)
  local window = whole("the receive window", conf.window_size or 128, 1, 2 ^ 20)
  o.window_size = window + padding(8, window)
  o.window = ffi.new("uint8_t[?]", o.window_size / 8)
  o.resync_threshold = conf.resync_threshold or 1024
  o.resync_attempts = conf.resync_attempts or 8
  o.decap_fail, o.wrong_spi = 0, 0
  o.MIN_SIZE, o.CTEXT_OFFSET, o.PLAIN_OVERHEAD = SMALLEST, BEHIND_HEADER,
    BEHIND_HEADER + TAG -- which programs may read
  o.log = conf.auditing and logger.new{rate = 32, module = "esp"}
  return o
end

-- Decrypt in place with that upper half of the sequence number; if the tag is wrong,
-- the bytes are as before: CTR twice is nothing.
local function try(self, data, size, low, high)
  local from = data + BEHIND_HEADER
  local iv, cipher = data + HEADER, self.cipher
  if cipher:decrypt(from, low, high, iv, from, size) then return true end
  cipher:decrypt(from, low, high, iv, from, size)
  return false
end

-- The upper half with which the packet is right after all, or nil.
local function resynchronize(self, data, size, low, high)
  if high < 0 then high = self.seq:high() end
  for i = 1, self.resync_attempts do
    if try(self, data, size, low, high + i) then return high + i end
  end
end

local function refuse(self, reason, spi, low, from)
  if not self.log or not self.log:can_log() then return end
  local source = from and lib.hexdump(ffi.string(from, 16)) or "unknown"
  self.log:log(("rejected a packet: %s (spi 0x%x, sequence number %u, source %s)")
    :format(reason, spi, low, source))
end

-- Check and decrypt `length` bytes of ESP at `data`: the size of the payload, which
-- stands BEHIND_HEADER bytes further, and its next header; nil if they are refused.
-- `from`: the source address.
local function open(self, data, length, from)
  local words = ffi.cast(words_t, data)
  local spi, low = tonumber(ntohl(words[0])), tonumber(ntohl(words[1]))
  if spi ~= self.spi then
    self.wrong_spi = self.wrong_spi + 1
    return refuse(self, "not of this association", spi, low, from)
  end
  local size = length - BEHIND_HEADER - TAG
  local high = tonumber(C.check_seq_no(low, self.seq.no, self.window, self.window_size))
  if high < 0 or not try(self, data, size, low, high) then
    local reason = high < 0 and "replayed" or "integrity error"
    self.decap_fail = self.decap_fail + 1
    high = self.decap_fail > self.resync_threshold
      and resynchronize(self, data, size, low, high)
    if not high then return refuse(self, reason, spi, low, from) end
  end
  self.decap_fail = 0
  self.seq.no = C.track_seq_no(high, low, self.seq.no, self.window, self.window_size)
  local tail = data + BEHIND_HEADER + size - TAIL
  local payload = size - TAIL - tail[0]
  if payload < 0 then return refuse(self, "wrong padding", spi, low, from) end
  return payload, tail[1]
end

--- The frame without ESP; nil if it is refused.
function Decrypt:decapsulate_transport6(p)
  local length = p.length - ETHERNET_AND_IP
  if length < SMALLEST then return nil end
  local data = p.data
  local payload = data + ETHERNET_AND_IP
  local size, next_header = open(self, payload, length, data + 22)
  if not size then return nil end
  data[NEXT_HEADER] = next_header
  data[PAYLOAD_LENGTH], data[PAYLOAD_LENGTH + 1] = rshift(size, 8), band(size, 255)
  C.memmove(payload, payload + BEHIND_HEADER, size)
  return packet.resize(p, ETHERNET_AND_IP + size)
end

--- What was in the packet, which begins with ESP's header, and its next header; nil if
--- it is refused.
function Decrypt:decapsulate_tunnel(p)
  local length = tobit(p.length)
  if length < SMALLEST then return nil end
  local size, next_header = open(self, p.data, length)
  if not size then return nil end
  return packet.resize(packet.shiftleft(p, BEHIND_HEADER), size), next_header
end

return esp
