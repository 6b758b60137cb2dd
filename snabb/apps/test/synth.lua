-- SPDX-License-Identifier: Apache-2.0
-- Synth: an endless source of Ethernet frames of given sizes, as in Snabb: zero
-- payload, and its length in the type field (IEEE 802.3, clause 3.2.6).

local ffi = require("ffi")
local engine = require("core.app")
local failure = require("core.failure")
local link = require("core.link")
local packet = require("core.packet")
local lib = require("core.lib")

local M = {}

local ETHERNET_HEADER_SIZE = 14
local PACKET_ID_OFFSET = 14
local packet_t = ffi.typeof("struct packet *")
local u32_ptr = ffi.typeof("uint32_t *")

local Synth = {
  config = {
    sizes = {default = {64}, kind = "table"},
    src = {default = "00:00:00:00:00:00", kind = "string"},
    dst = {default = "00:00:00:00:00:00", kind = "string"},
    random_payload = {default = false},
    packet_id = {default = false},
    packets = {kind = "table"},
  },
}
Synth.__index = Synth
M.Synth = Synth

local function mac_bytes(text)
  local digits = {text:match("^(%x%x?):(%x%x?):(%x%x?):(%x%x?):(%x%x?):(%x%x?)$")}
  if #digits ~= 6 then
    failure.usage("'%s' isn't a MAC address such as 02:00:00:00:00:01", text)
  end
  for i, pair in ipairs(digits) do
    digits[i] = string.char(tonumber(pair, 16))
  end
  return table.concat(digits)
end

local function frame(size, conf)
  if type(size) ~= "number" or size % 1 ~= 0 or size < ETHERNET_HEADER_SIZE
     or size > packet.max_payload then
    failure.usage("Synth can't make packets of %s bytes; %d to %d are possible",
                  tostring(size), ETHERNET_HEADER_SIZE, packet.max_payload)
  elseif conf.packet_id and size < PACKET_ID_OFFSET + 4 then
    failure.usage("Synth can't number packets of %d bytes; at least %d are needed",
                  size, PACKET_ID_OFFSET + 4)
  end
  local length = size - ETHERNET_HEADER_SIZE
  local payload = conf.random_payload and ffi.string(lib.random_bytes(length), length)
    or ("\0"):rep(length)
  return mac_bytes(conf.dst) .. mac_bytes(conf.src)
    .. string.char(math.floor(length / 256), length % 256) .. payload
end

local function frames(conf)
  if #conf.sizes == 0 then
    failure.usage("Synth needs at least one size")
  end
  local packets = {}
  for i, size in ipairs(conf.sizes) do
    packets[i] = frame(size, conf)
  end
  for i, bytes in ipairs(packets) do
    packets[i] = packet.from_string(bytes)
  end
  return packets
end

--- Send packets of `conf.sizes` (bytes, from 14 to 10,240) in turn, from `src` to
--- `dst` (MAC addresses), for ever; or `conf.packets`, an array of packets that the
--- app takes. `random_payload` fills them with random bytes, `packet_id` numbers them
--- from 0 (32 bits, big-endian, behind the header).
function Synth:new(conf)
  for i, p in ipairs(conf.packets or {}) do
    if not ffi.istype(packet_t, p) then
      failure.usage("Synth's packet %d is a %s", i, type(p))
    end
  end
  return setmetatable({
    packets = conf.packets or frames(conf),
    numbered = conf.packet_id,
    sent = {}, -- to each output: all get the same packets
  }, Synth)
end

--- The numbers of packets go on.
function Synth.reconfig_keeps(fresh, running)
  if fresh.packets == running.packets then running.packets = {} end -- given both times
  return {"sent"}
end

local function number_packet(p, id)
  ffi.cast(u32_ptr, p.data + PACKET_ID_OFFSET)[0] = lib.htonl(id % 2^32)
end

local function send_burst(self, output, n, sent)
  local packets, numbered = self.packets, self.numbered
  local count = #packets
  local cursor = sent % count
  for i = 0, n - 1 do
    local p = packet.clone(packets[cursor + 1])
    if numbered then number_packet(p, sent + i) end
    link.transmit(output, p)
    cursor = cursor + 1
    if cursor == count then
      cursor = 0
    end
  end
end

--- Send a burst to each output, as many as it has room for.
function Synth:pull()
  for i, output in ipairs(self.output) do
    local n = math.min(engine.pull_npackets, link.nwritable(output))
    local sent = self.sent[i] or 0
    send_burst(self, output, n, sent)
    self.sent[i] = sent + n
  end
end

function Synth:stop()
  for _, p in ipairs(self.packets) do
    packet.free(p)
  end
end

return M
