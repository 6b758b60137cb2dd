-- SPDX-License-Identifier: Apache-2.0
-- The hash that hands flows out, against Toeplitz bit by bit, and config.replicate.

local ffi = require("ffi")
local C = require("core.native")
local Port = require("apps.port.port").Port
local basic = require("apps.basic.basic_apps")
local config = require("core.config")
local distribute = require("core.cpus.distribute")
local link = require("core.link")
local packet = require("core.packet")
local testing = require("testing.flows")

local KEY = ("\x6d\x5a"):rep(40)

local function bit_of(s, i)
  return bit.band(bit.rshift(s:byte(math.floor(i / 8) + 1), 7 - i % 8), 1)
end

-- The 32 bits of the key from each bit on.
local windows = {}
for i = 0, (#KEY - 4) * 8 do
  local window = 0
  for k = 0, 31 do window = window * 2 + bit_of(KEY, i + k) end
  windows[i] = bit.tobit(window)
end

-- The hash as Microsoft's "RSS Hashing Types" defines it, for a string of bytes.
local function toeplitz(input)
  local hash = 0
  for i = 0, #input * 8 - 1 do
    if bit_of(input, i) == 1 then hash = bit.bxor(hash, windows[i]) end
  end
  return hash
end

local function hash_of(frame)
  local p = packet.from_string(frame)
  local hash = bit.tobit(C.pg_flow_hash(p))
  packet.free(p)
  return hash
end

local function random_bytes(n)
  local bytes = {}
  for i = 1, n do bytes[i] = string.char(math.random(0, 255)) end
  return table.concat(bytes)
end

local MACS = ("\2"):rep(12)

local function ipv4(addresses, ports, protocol, more)
  more = more or {}
  return MACS .. (more.tags or "") .. "\8\0" .. (more.options and "\x46" or "\x45")
    .. ("\0"):rep(5) .. (more.fragment or "\0\0") .. "\64" .. string.char(protocol)
    .. "\0\0" .. addresses .. (more.options or "") .. ports
end

local function ipv6(addresses, ports, protocol)
  return MACS .. "\x86\xdd\x60" .. ("\0"):rep(5) .. string.char(protocol) .. "\64"
    .. addresses .. ports
end

local function swapped(s)
  return s:sub(#s / 2 + 1) .. s:sub(1, #s / 2)
end

describe("the hash of flows", function ()
  it("is Toeplitz's with the key 6d5a, and the same for both directions", function ()
    math.randomseed(3)
    for _ = 1, 100 do
      local four, six, ports = random_bytes(8), random_bytes(32), random_bytes(4)
      for _, protocol in ipairs{6, 17, 132} do
        local hash = toeplitz(four .. ports)
        assert.equal(hash, hash_of(ipv4(four, ports, protocol)))
        assert.equal(hash, hash_of(ipv4(swapped(four), swapped(ports), protocol)))
        assert.equal(hash, hash_of(ipv4(four, ports, protocol, {options = "\1\1\1\1"})))
        assert.equal(hash, hash_of(ipv4(four, ports, protocol,
          {tags = "\x88\xa8\0\1\x81\0\0\2"})))
        assert.equal(toeplitz(six .. ports), hash_of(ipv6(six, ports, protocol)))
      end
      assert.equal(toeplitz(four), hash_of(ipv4(four, ports, 1)))
      for _, fragment in ipairs{"\x20\0", "\0\5"} do
        assert.equal(toeplitz(four), hash_of(ipv4(four, ports, 17,
          {fragment = fragment})))
      end
      assert.equal(toeplitz(six), hash_of(ipv6(six, ports, 58)))
    end
  end)

  it("reads nothing behind a packet's end", function ()
    local whole = ipv4(random_bytes(8), random_bytes(4), 17)
    for n = 0, #whole do hash_of(whole:sub(1, n)) end
    assert.equal(0, hash_of(whole:sub(1, 33)))
    assert.equal(toeplitz(whole:sub(27, 34)), hash_of(whole:sub(1, 37)))
    assert.equal(0, hash_of(MACS .. "\8\6" .. random_bytes(46)))
  end)
end)

describe("Distribute", function ()
  it("keeps flows together, in order, and leaves what has no room", function ()
    local input, outputs = link.new("in"), {}
    local app = distribute.Distribute:new()
    app.input, app.output = {input = input}, {}
    for i = 1, 3 do
      outputs[i] = link.new("out" .. i)
      app.output["output" .. i] = outputs[i]
    end
    app:link()
    for i = 1, 900 do
      local flow = ("%08d"):format(i % 50)
      local frame = ipv4(flow, "abcd", 17) .. ("%04d"):format(i)
      link.transmit(input, packet.from_string(frame))
    end
    app:push()
    local seen, total = {}, 0
    for i = 1, 3 do
      local last = {}
      for _ = 1, link.nreadable(outputs[i]) do
        local p = link.receive(outputs[i])
        local text = ffi.string(p.data, p.length)
        local flow, number = text:sub(27, 34), tonumber(text:sub(-4))
        assert.is_true(seen[flow] == nil or seen[flow] == i)
        assert.is_true(number > (last[flow] or 0))
        seen[flow], last[flow], total = i, number, total + 1
        packet.free(p)
      end
    end
    assert.equal(900, total)
    for _ = 1, 2 do -- one flow fills its link, and then the input
      for _ = 1, 800 do
        link.transmit(input, packet.from_string(ipv4("12345678", "abcd", 17)))
      end
      app:push()
    end
    local waiting = 0
    for i = 1, 3 do waiting = math.max(waiting, link.nreadable(outputs[i])) end
    assert.equal(link.max, waiting)
    assert.equal(1600 - link.max, link.nreadable(input))
    link.free(input, "in")
    for i = 1, 3 do link.free(outputs[i], "out" .. i) end
  end)
end)

describe("config.replicate", function ()
  local function graph(port)
    local c = config.new()
    config.app(c, "port", Port, port)
    config.app(c, "pass", testing.Pass, "same")
    config.link(c, "port.output -> pass.input")
    config.link(c, "pass.output -> port.input")
    return c
  end

  it("gives every copy a queue of a port that has queues", function ()
    local c = graph("null")
    config.replicate(c, {"port", "pass"}, {4, 5})
    assert.same({
      port_1 = {class = Port, arg = {port = "null", queues = 2, queue = 0}},
      port_2 = {class = Port, arg = {port = "null", queues = 2, queue = 1}},
      pass_1 = {class = testing.Pass, arg = "same"},
      pass_2 = {class = testing.Pass, arg = "same"},
    }, c.apps)
    assert.same({port_1 = 4, pass_1 = 4, port_2 = 5, pass_2 = 5}, c.cpus)
    assert.same({["port_1.output -> pass_1.input"] = true,
      ["port_2.output -> pass_2.input"] = true,
      ["pass_1.output -> port_1.input"] = true,
      ["pass_2.output -> port_2.input"] = true}, c.links)
  end)

  it("hands out the packets of one that hasn't", function ()
    local c = graph("pcap:rx=/dev/null")
    config.replicate(c, {"port", "pass"}, {4, 5})
    assert.same({["port.output -> port_output_flows.input"] = true,
      ["port_output_flows.output1 -> pass_1.input"] = true,
      ["port_output_flows.output2 -> pass_2.input"] = true,
      ["pass_1.output -> port_input_join.input1"] = true,
      ["pass_2.output -> port_input_join.input2"] = true,
      ["port_input_join.output -> port.input"] = true}, c.links)
    assert.same({port = 4, port_output_flows = 4, port_input_join = 4, pass_1 = 4,
                 pass_2 = 5}, c.cpus)
  end)

  it("refuses what can't be replicated", function ()
    local c = graph("null")
    assert.error_matches(function () config.replicate(c, {"ghost"}, {1}) end,
      "config.replicate: there is no app 'ghost'")
    assert.error_matches(function () config.replicate(c, {"pass"}, {}) end,
      "needs a list of CPUs")
    config.app(c, "pass_1", basic.Sink)
    assert.error_matches(function () config.replicate(c, {"pass"}, {1}) end,
      "there is an app 'pass_1' already")
  end)
end)
