-- SPDX-License-Identifier: Apache-2.0
-- What is done to each packet in fuzzing, and what must hold then: nothing raises an
-- error or touches memory outside of the packet; what only looks changes nothing;
-- the checked casts agree with what resolving finds; checksums that were calculated
-- are found right.

local ffi = require("ffi")
local checksum = require("net.checksum.checksum")
local dns = require("lib.stack.body.dns")
local guard = require("testing.fuzz.guard")
local registry = require("lib.stack.registry")
local stack = require("lib.stack")
require("lib.stack.packet.buffer")

local NOWHERE = {write = function () end} -- a stream

local Trial = {}
Trial.__index = Trial

local THOROUGHLY = 20
local IP_OFFSETS = {0, 14, 14, 14, 18, 22, 34, 54, 64, 2 ^ 16, 2 ^ 32 - 8}
local IP_SIZES = {0, 19, 20, 20, 24, 40, 40, 60, 2 ^ 32 - 40}
local PROTOCOLS = {checksum.TCP, checksum.UDP, checksum.ICMP, checksum.ICMPV6, 132}

--- A trial with the casts of the seeds' stacks.
function Trial.new(seeds)
  local casts = {}
  for i, seed in ipairs(seeds) do casts[i] = seed.cast end
  local p = guard.packet()
  return setmetatable({casts = casts, p = p, other = guard.packet(),
    packets = ffi.new("struct packet *[1]", p), protocols = stack.protocols(),
    tried = 0, resolved = {}, passed = 0, filled = 0}, Trial)
end

local function expect(condition, ...)
  if not condition then error(table.concat({...}, " "), 2) end
end

-- A routing header that was filled with type 4 is a segment routing header.
local AMBIGUOUS = "what follows is srh, not routing"

local function expect_right(pkt, what)
  local wrong = {}
  for _, problem in ipairs(select(2, pkt:verify()) or {}) do
    if not problem:find(AMBIGUOUS, 1, true) then wrong[#wrong + 1] = problem end
  end
  if #wrong > 0 then error(what .. ": " .. table.concat(wrong, "; "), 2) end
end

-- Does UDP's destination port name a protocol, so that its source port doesn't count?
local function names_another(udp, name)
  local names = registry.announced("udp", udp:getDstPort())
  for _, announced in ipairs(names or {}) do
    if announced == name then return false end
  end
  return names ~= nil
end

-- Where bytes may be one of several things a cast says which it is wanted to be, and
-- resolving takes the likelier: they needn't agree from there on. So: an Ethernet frame
-- in MPLS that begins like IP, any routing header, what UDP's ports name if they name
-- two, and a subtype that the bytes don't tell.
local function settled_name(shape, pkt)
  local names = {}
  for i, item in ipairs(shape.items) do
    local name, subtype = item.protocol.name, item.layout.subtype
    local below = shape.items[i - 1]
    local lower = below and below.protocol.name
    if subtype and not item.layout.when then break end
    if name == "routing" or name == "eth" and lower == "mpls" then break end
    if lower == "udp" and names_another(pkt[below.label], name) then break end
    names[i] = name
  end
  return table.concat(names, " ")
end

-- "eth ip4 udp" of a view or a cast packet.
local function names_of(pkt)
  return (pkt:getName():gsub("_", " "))
end

-- Everything slow that only looks.
local function look(pkt, random)
  pkt:get()
  pkt:dump(not random:one_in(16) and random:range(0, 20) or nil, NOWHERE)
  pkt:dump("line", NOWHERE)
  if random:one_in(4) then
    pkt:getString()
    pkt:getHeaders()
    pkt:getArgs()
  end
end

local function read_samples(header, bytes)
  for _, sample in header:iterateSamples(bytes) do
    sample:getString()
    for _, record in sample:iterateEntries() do
      record:getString()
      if record.getData then ffi.string(record:getData()) end
    end
  end
end

-- What can be read can be written.
local function read_records(header, bytes)
  local message, reason = header:getRecords(bytes)
  expect(message or type(reason) == "string", "getRecords gives no reason")
  if message then dns.write(message) end
end

-- Each field through the packet path's getters, and what headers have besides.
local function read_fields(shape, pkt)
  for _, item in ipairs(shape.items) do
    local name, header = item.protocol.name, pkt[item.label]
    for _, field in ipairs(item.layout.fields) do
      header["get" .. field.name](header)
    end
    if name == "tcp" then header:getOptionsString() end
    if name == "dns" then read_records(header, pkt.length - item.offset) end
    if name == "sflow" then read_samples(header, pkt.length - item.offset) end
  end
end

-- Of the casts that the packet passes, the one with most bytes of headers.
function Trial:check_all(view)
  local p, found = self.p, names_of(view)
  local passed
  for _, cast in ipairs(self.casts) do
    local pkt, reason = cast.check(p)
    if pkt then
      if not passed or cast.shape.size > passed.shape.size then passed = cast end
      local name = settled_name(cast.shape, pkt)
      expect(found:sub(1, #name) == name, "check found", name, "but resolve", found)
      self.passed = self.passed + 1
    else
      expect(type(reason) == "string", "check gives no reason")
    end
  end
  return passed
end

-- What get() tells, given to fill(), makes the same headers again.
function Trial:fill_again(cast, pkt)
  local size, other = cast.shape.size, self.other
  guard.place(other, self.p.data, self.p.length)
  ffi.fill(other.data, size, 0x5a)
  cast(other):fill(pkt:get())
  expect(ffi.C.memcmp(other.data, self.p.data, size) == 0, cast.getName(),
    "is filled other than it was")
  expect(guard.untouched(other, self.p.length), "fill wrote outside of the packet")
end

-- Asking the device for checksums writes their pseudo header's sum.
local function offload(p, random)
  local ip4, l2 = random:one_in(2), random:choose{14, 14, 18, 34, 127}
  local l3 = random:choose{0, 20, 24, 40, 60, 511}
  p:offloadIPChecksum(ip4, l2, l3)
  p:offloadUdpChecksum(ip4, l2, l3)
  p:offloadTcpChecksum(ip4, l2, l3)
  p.ol_flags = 0
end

-- The kernels that trust no header, at likely and unlikely offsets.
function Trial:fill_checksums(random)
  local l3 = random:choose(IP_OFFSETS)
  local l4 = (l3 + random:choose(IP_SIZES)) % 2 ^ 32
  if checksum.fill_ip4(self.packets, 1, l3) == 1 then
    self.filled = self.filled + 1
    local ip = self.p.data + l3
    local sum = checksum.of(ip, bit.band(ip[0], 15) * 4)
    expect(sum == 0, "fill_ip4's checksum is wrong")
  end
  local protocol = random:choose(PROTOCOLS)
  self.filled = self.filled + checksum.fill_l4(self.packets, 1, l3, l4, protocol)
end

-- Does the packet have a frame with a length that can't tell of so many bytes?
local function is_too_long(shape, length)
  for _, item in ipairs(shape.items) do
    if item.layout.subtype == "dot3" and length - item.offset - item.size > 1500 then
      return true
    end
  end
  return false
end

-- What is done to a packet under the type of a stack that it has.
function Trial:use(cast, pkt, random, thoroughly)
  local length = self.p.length
  read_fields(cast.shape, pkt)
  if thoroughly then
    look(pkt, random)
    pkt:verify()
    self:fill_again(cast, pkt)
  end
  pkt:setLength(length)
  pkt:calculateChecksums()
  if settled_name(cast.shape, pkt) == names_of(pkt)
    and not is_too_long(cast.shape, length) then
    expect_right(pkt, "set lengths and checksums aren't right")
  end
  if thoroughly then
    local last = pkt:resolveLastHeader()
    look(last, random)
    if type(last) == "cdata" then last:calculateChecksums() end
  end
end

--- Try the packet that `mutants` holds; `seed` is what it was made from, if it wasn't
--- bent. What takes long is done to one in THOROUGHLY.
function Trial:run(mutants, random, seed)
  local p, length = self.p, mutants.length
  local thoroughly = random:one_in(THOROUGHLY)
  self.tried = self.tried + 1
  guard.place(p, mutants.bytes, length, random:one_in(8))
  local view = stack.resolve(p)
  if thoroughly then
    look(view, random)
    look(stack.resolve(p, random:choose(self.protocols)), random)
  end
  view:verify()
  local cast = self:check_all(view)
  if seed then
    local same, reason = seed.cast.check(p)
    expect(same, seed.cast.getName(), "isn't what it was made as:", tostring(reason))
    expect_right(same, "a filled packet isn't right")
  end
  expect(ffi.C.memcmp(p.data, mutants.bytes, length) == 0, "looking changed it")
  if cast then self:use(cast, cast.check(p), random, thoroughly) end
  self:fill_checksums(random)
  offload(p, random)
  expect(p.length == length, "its length changed")
  expect(guard.untouched(p, length), "bytes outside of it were written")
  local name = names_of(view)
  self.resolved[name] = (self.resolved[name] or 0) + 1
end

--- How many packets were tried, how many stacks were found in them.
function Trial:summary()
  local kinds = 0
  for _ in pairs(self.resolved) do kinds = kinds + 1 end
  return ("%d packets tried, %d different stacks found, %d checked casts passed, "
    .. "%d checksums filled\n"):format(self.tried, kinds, self.passed, self.filled)
end

return Trial
