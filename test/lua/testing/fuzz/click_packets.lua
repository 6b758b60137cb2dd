-- SPDX-License-Identifier: Apache-2.0
-- Malformed packets through a Click configuration, which runs on the engine as it is:
-- its devices are replaced by elements that make packets and take them. However bent,
-- each packet has to come out, be dropped or be held, once.

local account = require("core.engine.account")
local C = require("core.declare")("net/checksum/checksum.h")
local errors = require("click.errors")
local ffi = require("ffi")
local language = require("click.language")
local link = require("core.link")
local Mutants = require("testing.fuzz.mutants")
local packet = require("core.packet")
local Random = require("testing.fuzz.random")
local registry = require("click.registry")
local router = require("click.router.router")
local seeds = require("testing.fuzz.seeds")

local click_packets = {}

local BURST, RANDOM_STACKS = 32, 40
local MOST_BYTES = 2000 -- what longer mutants are cut to

-- In front of the configuration's first line.
local DEVICES = "elementclass FromDPDKDevice { $port | "
  .. "Perigee(apps.fuzz.click_packets.Source) -> output } "
  .. "elementclass ToDPDKDevice { $port | "
  .. "input -> Perigee(apps.fuzz.click_packets.Sink) } "

-- The packets -----------------------------------------------------------------------

local run -- {random =, mutants =, left = packets to make, sent =, arrived =}

-- Networks and hosts that the configurations know.
local ADDRESSES = {0x0a000001, 0x0a000005, 0x0a000101, 0x0a000150, 0x0a000201,
  0x0a000107, 0x0a000209, 0xc0000201, 0xc00002fe, 0xc6336407, 0xffffffff, 0x7f000001}
local PROTOCOLS = {1, 6, 17}
local ETHERNET, HEADER = 14, 20 -- bytes

local function put_word(at, number)
  at[0], at[1] = math.floor(number / 2 ^ 24), math.floor(number / 2 ^ 16) % 256
  at[2], at[3] = math.floor(number / 256) % 256, number % 256
end

-- Let it be IPv4 with a right header of so many bytes, so that elements far inside see
-- it, too; what follows is as bent as it was.
local function repair(bytes, length, random)
  if length < ETHERNET + HEADER then return end
  local ip, all = bytes + ETHERNET, length - ETHERNET
  bytes[12], bytes[13] = 8, 0
  local size = math.min(HEADER + 4 * (random:one_in(4) and random:range(0, 10) or 0),
    all - all % 4)
  ip[0] = 0x40 + size / 4
  ip[2], ip[3] = math.floor(all / 256), all % 256
  if not random:one_in(4) then ip[6], ip[7] = random:one_in(2) and 64 or 0, 0 end
  if not random:one_in(3) then ip[9] = random:choose(PROTOCOLS) end
  put_word(ip + 12, random:choose(ADDRESSES))
  put_word(ip + 16, random:choose(ADDRESSES))
  ip[10], ip[11] = 0, 0
  ffi.cast("uint16_t *", ip + 10)[0] = C.pg_checksum_word(ip, size)
end

-- A sound ARP reply of one of the hosts, so that packets for it are not kept for ever.
-- A device gets those of all in turn: by chance there would now and then be none of a
-- gateway's, and hardly a packet would arrive.
local function reply(random, device)
  device.replies = device.replies % #ADDRESSES + 1
  local p = packet.from_string(("\2"):rep(6) .. "\2\0\0\0\0\9\8\6"
    .. "\0\1\8\0\6\4\0\2\2\0\0\0\0\9" .. ("\0"):rep(4) .. ("\2"):rep(6)
    .. ("\0"):rep(22))
  put_word(p.data + 28, ADDRESSES[device.replies])
  put_word(p.data + 38, random:choose(ADDRESSES))
  return p
end

local function make(device)
  local random, mutants = run.random, run.mutants
  if random:one_in(50) then return reply(random, device) end
  mutants:make(random)
  local length = math.min(mutants.length, MOST_BYTES)
  if not random:one_in(3) then repair(mutants.bytes, length, random) end
  return packet.from_pointer(mutants.bytes, length)
end

local Source = {outputs = {"output"}}
Source.__index = Source
function Source:new() return setmetatable({replies = 0}, self) end
function Source:pull()
  for _ = 1, math.min(BURST, run.left) do
    link.transmit(self.output.output, make(self))
    run.left, run.sent = run.left - 1, run.sent + 1
  end
end

local Sink = {inputs = {"input"}}
Sink.__index = Sink
function Sink:new() return setmetatable({}, self) end
function Sink.process(_, p)
  run.arrived = run.arrived + 1
  packet.free(p)
  return false
end

package.preload["apps.fuzz.click_packets"] = function ()
  return {Source = Source, Sink = Sink}
end

-- The run -----------------------------------------------------------------------------

local function make_router(file)
  local reporter = errors.new()
  local opened = assert(io.open(file))
  local text = opened:read("*a")
  opened:close()
  local flat = language.read{text = DEVICES .. text, file = file, errors = reporter,
    class_of = registry.find, class_names = registry.names}
  local made = flat and router.new(flat, {errors = reporter, say = function () end})
  return made or error(reporter:text(), 0)
end

-- Stop soon after the last packet.
local function stop_at_end(r)
  local quiet = 0
  r:poll("fuzz", function ()
    if run.left > 0 then return end
    quiet = quiet + 1
    if quiet > 20 then r:stop() end
  end)
end

--- Send options.count mutants of options.seed through the configuration options.file.
--- What became of them: {sent =, arrived =, held = packets that were never given back,
--- which is to be 0}.
function click_packets.run(options)
  local random = Random.new(options.seed, 1)
  run = {random = random, left = options.count, sent = 0, arrived = 0,
         mutants = Mutants.new(seeds.make(random, RANDOM_STACKS))}
  local before = account.packets({}).held
  local r = make_router(options.file)
  stop_at_end(r)
  r:run()
  r:close()
  require("core.app").stop()
  return {sent = run.sent, arrived = run.arrived,
          held = account.packets({}).held - before}
end

return click_packets
