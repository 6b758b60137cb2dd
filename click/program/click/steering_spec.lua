-- SPDX-License-Identifier: Apache-2.0
-- Copies of a NAT on one and two CPUs, with another end that answers each packet.

local Click = require("apps.click.click").Click
local affinity = require("core.cpus.affinity")
local config = require("core.config")
local distribute = require("core.cpus.distribute")
local engine = require("core.app")
local ffi = require("ffi")
local joined = require("program.click.joined")
local link = require("core.link")
local packet = require("core.packet")
local registry = require("click.registry")
local savefiles = require("testing.savefiles")
local steering = require("program.click.steering")

local NAT = [[
  nat :: IPRewriter(pattern 192.0.2.1 1024-65535 - - 0 1, drop);
  pings :: ICMPPingRewriter(pattern 192.0.2.1 1024-65535 - - 0 1, drop);
  errors :: ICMPRewriter(nat pings);
  to_in :: EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:10) -> ToDevice(in);
  to_out :: EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:3) -> ToDevice(out);
  FromDevice(in) -> Strip(14) -> CheckIPHeader -> a :: IPClassifier(icmp, -);
  FromDevice(out) -> Strip(14) -> CheckIPHeader
    -> b :: IPClassifier(icmp type echo-reply, icmp, -);
  a [1] -> [0] nat; a [0] -> [0] pings;
  b [2] -> [1] nat; b [0] -> [1] pings; b [1] -> errors -> to_in;
  nat [0] -> to_out; nat [1] -> to_in; pings [0] -> to_out; pings [1] -> to_in;
]]

local ENDS = [[
  to_in :: EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:10) -> ToDevice(in);
  to_out :: EtherEncap(0x0800, 2:0:0:0:0:2, 2:0:0:0:0:3) -> ToDevice(out);
  FromDevice(in) -> Strip(14) -> CheckIPHeader -> a :: IPClassifier(icmp, -);
  FromDevice(out) -> Strip(14) -> CheckIPHeader -> b :: IPClassifier(icmp, -);
]]

-- What flow managers' elements give ports to, and what IPAddrPairRewriter addresses.
local FLOW_NAT = ENDS .. [[
  a [1] -> FlowIPManager(TIMEOUT 0) -> nat :: FlowIPNAT(192.0.2.1) -> to_out;
  b [1] -> FlowIPManager(TIMEOUT 0) -> FlowIPNATReverse(nat) -> to_in;
  a [0] -> Discard; b [0] -> Discard;
]]
local FLOW_NAPT = ENDS .. [[
  a [1] -> FlowIPManagerHMP
    -> nat :: FlowNAPTLoadBalancer(10.9.0.1, 10.9.0.2, SIP 10.8.0.1 10.8.0.2,
      STATE false, LB_MODE hash) -> to_out;
  b [1] -> FlowIPManagerHMP -> FlowNAPTLoadBalancerReverse(nat) -> to_in;
  a [0] -> Discard; b [0] -> Discard;
]]
local PAIRS = ENDS .. [[
  nat :: IPAddrPairRewriter(pattern 192.0.2.1-192.0.2.250 - 0 1, drop);
  a [0] -> nat; a [1] -> nat; nat [0] -> to_out;
  b [0] -> [1] nat; b [1] -> [1] nat; nat [1] -> to_in;
]]

local FLOWS, PACKETS = 60, 900 -- which all have room in one ring
local ETHER, HEADERS = 14, 34

local function be16(n) return string.char(math.floor(n / 256) % 256, n % 256) end

local function ip(protocol, source, destination, rest)
  local header = "\x45\0" .. be16(20 + #rest) .. "\0\0\0\0\x40" .. string.char(protocol)
    .. "\0\0" .. source .. destination
  local sum = 0
  for i = 1, 20, 2 do sum = sum + header:byte(i) * 256 + header:byte(i + 1) end
  sum = 65535 - (sum % 65536 + math.floor(sum / 65536))
  return header:sub(1, 10) .. be16(sum) .. header:sub(13) .. rest
end

local KINDS = {
  function (flow, text) -- UDP
    return 17, be16(2000 + flow) .. "\0\x35" .. be16(8 + #text) .. "\0\0" .. text
  end,
  function (flow, text) -- TCP
    return 6, be16(2000 + flow) .. "\0\x50\0\0\0\1\0\0\0\1\x50\x10\1\0\0\0\0\0" .. text
  end,
  function (flow, text) -- a ping
    return 1, "\8\0\0\0" .. be16(2000 + flow) .. "\0\1" .. text
  end,
}

-- Packet number `k`: of a flow that it tells, between the same addresses.
local function frame(k)
  local flow = (k * 7) % FLOWS
  local text = ("%03d %06d"):format(flow, k)
  local protocol, rest = KINDS[flow % 3 + 1](flow, text)
  return ("\2\0\0\0\0\1\2\0\0\0\0\10\8\0")
    .. ip(protocol, "\10\0\0" .. string.char(1 + flow % 5), "\198\51\100\1", rest)
end

-- What is at the other end: it answers what comes, every ninth with an ICMP error if
-- `errors` is true.
local Peer = {}
Peer.__index = Peer
function Peer:new(arg)
  return setmetatable({seen = {}, n = 0, every = arg.errors and 9 or math.huge}, self)
end

local function swapped(s, at, size)
  return s:sub(1, at) .. s:sub(at + size + 1, at + 2 * size) .. s:sub(at + 1, at + size)
    .. s:sub(at + 2 * size + 1)
end

local function answer_to(s, n, every)
  local protocol = s:byte(24)
  if n % every == 0 then
    return s:sub(1, ETHER) .. ip(1, "\198\51\100\1", s:sub(27, 30),
      "\3\1\0\0\0\0\0\0" .. s:sub(ETHER + 1))
  end
  local answer = swapped(s, 26, 4)
  if protocol == 1 then return answer:sub(1, HEADERS) .. "\0" .. answer:sub(36) end
  return swapped(answer, HEADERS, 2)
end

function Peer:push()
  local l, out = self.input.input, self.output.output
  for _ = 1, link.nreadable(l) do
    local p = link.receive(l)
    local s = ffi.string(p.data, p.length)
    packet.free(p)
    self.n = self.n + 1
    self.seen[#self.seen + 1] = s
    link.transmit(out, packet.from_string(answer_to(s, self.n, self.every)))
  end
end

local function write(path, frames)
  local order = savefiles.order("little")
  local records = {order:pcap_header()}
  for _, s in ipairs(frames) do records[#records + 1] = order:record(s) end
  local stream = io.open(path, "wb")
  stream:write(table.concat(records))
  stream:close()
end

-- The frames of a file as Perigee writes it here: little-endian.
local function read(path)
  local stream = io.open(path, "rb")
  local text, frames, at = stream:read("*a"), {}, 25
  stream:close()
  while at < #text do
    local low, high = text:byte(at + 8, at + 9)
    local size = low + 256 * high
    frames[#frames + 1] = text:sub(at + 16, at + 15 + size)
    at = at + 16 + size
  end
  return frames
end

-- By flow, the numbers of its packets in the order of the frames.
local function by_flow(frames)
  local flows = {}
  for _, s in ipairs(frames) do
    local flow, number = s:match("(%d%d%d) (%d%d%d%d%d%d)$")
    flows[flow] = (flows[flow] or "") .. number .. " "
  end
  return flows
end

local function app_of(i) return "click_" .. i end

-- What leaves on each side of the configuration, and what handlers say, on so many
-- CPUs; packets are handed out `by`.
local function translate(n, text, by)
  text, by = text or NAT, by or "within"
  local file, back = os.tmpname(), os.tmpname()
  local frames = {}
  for k = 1, PACKETS do frames[k] = frame(k) end
  write(file, frames)
  local cpus, c = {}, config.new()
  for i = 1, n do
    cpus[i] = affinity.cpus()[i]
    config.app(c, app_of(i), Click, {text = text, devices = {["in"] = "ring:inside",
      out = "ring:outside"}, copy = {number = i - 1, of = n,
      shared = {["ring:inside"] = 1, ["ring:outside"] = 2}}})
    config.cpu(c, app_of(i), cpus[i])
  end
  steering.wire(c, {{name = "device_1", receives = true, sends = true,
    arg = ("pcap:rx=%s,tx=%s"):format(file, back)}}, cpus, app_of, by)
  config.app(c, "peer", Peer, {errors = text == NAT})
  config.app(c, "flows", distribute.Distribute, {by = by})
  config.app(c, "join", distribute.Join)
  config.link(c, "join.output -> peer.input")
  config.link(c, "peer.output -> flows.input")
  for i = 1, n do
    config.link(c, ("flows.output%d -> %s.rx2"):format(i, app_of(i)))
    config.link(c, ("%s.tx2 -> join.input%d"):format(app_of(i), i))
  end
  engine.configure(c)
  engine.main{no_report = true, done = engine.finished}
  local result = {seen = engine.app_table.peer.seen, each = {}}
  if text == NAT then
    local router =
      {find = function () return {class = registry.find("IPRewriter")} end}
    joined.handlers(router, {cpus = cpus, app_of = app_of})
    result.sizes =
      router:handler_read("nat.size") .. " " .. router:handler_read("pings.size")
  end
  for i, cpu in ipairs(text == NAT and cpus or {}) do
    result.each[i] = tonumber(require("core.cpus.workers").call(cpu, "apps.click.click",
      "read", {app = app_of(i), handler = "nat.size"}).text)
  end
  engine.stop()
  result.back = read(back)
  os.remove(file)
  os.remove(back)
  return result
end

describe("a NAT on two CPUs", function ()
  after_each(function () engine.stop() end)

  it("does what it does on one, flow by flow", function ()
    if #affinity.cpus() < 2 then pending("it takes two CPUs") end
    local one, two = translate(1), translate(2)
    assert.equal(PACKETS, #one.seen)
    assert.equal(PACKETS, #two.seen)
    assert.same(by_flow(one.seen), by_flow(two.seen))
    assert.equal(PACKETS, #one.back)
    assert.equal(PACKETS, #two.back)
    assert.same(by_flow(one.back), by_flow(two.back))
    assert.equal("40 20", one.sizes)
    assert.equal("40 20", two.sizes)
    assert.is_true(two.each[1] > 0 and two.each[2] > 0)
    assert.equal(40, two.each[1] + two.each[2])
  end)

  it("gives flows ports, and pairs addresses, by which their answers come #slow",
    function ()
      if #affinity.cpus() < 2 then pending("it takes two CPUs") end
      for _, case in ipairs{
        {FLOW_NAT, "flow", PACKETS / 3 * 2}, {FLOW_NAPT, "flow", PACKETS / 3 * 2},
        {PAIRS, "addresses", PACKETS},
      } do
        local text, by, n = unpack(case)
        local one, two = translate(1, text, by), translate(2, text, by)
        for _, r in ipairs{one, two} do
          assert.same({n, n}, {#r.seen, #r.back}, text)
        end
        assert.same(by_flow(one.seen), by_flow(two.seen), text)
        assert.same(by_flow(one.back), by_flow(two.back), text)
        for _, s in ipairs(two.back) do
          local flow = tonumber(s:match("(%d%d%d) %d%d%d%d%d%d$"))
          assert.equal("\10\0\0" .. string.char(1 + flow % 5), s:sub(31, 34))
        end
      end
    end)

  it("leads each answer to whom it is for", function ()
    if #affinity.cpus() < 2 then pending("it takes two CPUs") end
    for _, s in ipairs(translate(2).back) do
      local flow = tonumber(s:match("(%d%d%d) %d%d%d%d%d%d$"))
      assert.equal("\10\0\0" .. string.char(1 + flow % 5), s:sub(31, 34))
    end
  end)
end)
