-- SPDX-License-Identifier: Apache-2.0
-- The packets that are made: what varies, and that checksums worked out from sums are
-- those that lib.stack computes over the bytes. (Scapy's view: test/test_generate.py.)

local ffi = require("ffi")
local link = require("core.link")
local maker = require("lib.traffic.maker")
local packet = require("core.packet")
local probe = require("lib.traffic.probe")
local rate = require("lib.traffic.rate")

local output

-- What a maker sends, an array of strings; `look(pkt, p)` is called for each.
local function made(o, n, look)
  local m = maker.new(o)
  local packets = {}
  while #packets < n do
    m:burst(output, math.min(n - #packets, 100), 1e9)
    for _ = 1, link.nreadable(output) do
      local p = link.receive(output)
      packets[#packets + 1] = ffi.string(p.data, p.length)
      if look then look(m.stack(p), p) end
      packet.free(p)
    end
  end
  return packets, m
end

local function values(o, n, get)
  local list = {}
  made(o, n, function (pkt, p) list[#list + 1] = get(pkt, p) end)
  return list
end

local function fields(...)
  local names = {...}
  return function (pkt)
    local got, all = {}, pkt:get()
    for i, name in ipairs(names) do got[i] = tostring(all[name]) end
    return table.concat(got, " ")
  end
end

describe("lib.traffic.maker", function()
  before_each(function() output = link.new("maker_test") end)
  after_each(function() link.free(output, "maker_test") end)

  it("carries a payload, and the record after it", function ()
    for _, payload in ipairs{"x", "an odd number", ("p"):rep(1001)} do
      for _, slow in ipairs{false, true} do
        local at = 42 + #payload
        local o = {payload = payload, set = {"udpSrc=1..9"}, slow_checksums = slow}
        local packets, m = made(o, 20, function (pkt, p)
          assert.is_true(pkt:verify())
          assert.is_number((probe.read(p.data + at)))
        end)
        assert.equal("all", m:records())
        for _, data in ipairs(packets) do
          assert.equal(math.max(60, at + probe.SIZE), #data)
          assert.equal(payload, data:sub(43, at))
        end
      end
    end
  end)

  it("ends a payload with the packet, and fills a longer one with zeros", function ()
    local payload = ("0123456789"):rep(3)
    local packets, m = made({payload = payload, size = "50..80"}, 31, function (pkt)
      assert.is_true(pkt:verify())
    end)
    assert.equal("none", m:records())
    for i, data in ipairs(packets) do
      assert.equal(49 + i, #data)
      assert.equal((payload .. ("\0"):rep(9)):sub(1, #data - 42), data:sub(43))
    end
    local most = ("m"):rep(packet.max_payload - 42)
    assert.equal(most, made({payload = most}, 1)[1]:sub(43))
    assert.has_error(function () maker.new{payload = most .. "m"} end,
      "packets of up to 10240 bytes are too short for 42 bytes of headers and 10199 of"
      .. " payload")
  end)

  it("numbers and stamps packets, and lib.stack finds nothing wrong", function()
    local number = 0
    local packets = made({}, 250, function (pkt, p)
      assert.is_true(pkt:verify())
      local n, time = probe.read(p.data + 42)
      assert.are.equal(number, n)
      assert.is_true(time > 0)
      number = number + 1
    end)
    assert.are.equal(60, #packets[1])
    assert.are.equal("PG", packets[1]:sub(43, 44))
  end)

  it("lets fields take turns, the first the fastest", function()
    local set = {"udpDst=1..2", "udpSrc=7,5,6", "ip4TTL=9"}
    assert.are.same({"1 7 9", "2 7 9", "1 5 9", "2 5 9", "1 6 9", "2 6 9", "1 7 9"},
                    values({set = set}, 7, fields("udpDst", "udpSrc", "ip4TTL")))
    assert.are.same({"1 7", "2 7", "1 5", "1 7", "2 7"},
                    values({set = set, flows = 3}, 5, fields("udpDst", "udpSrc")))
  end)

  it("counts addresses by their last byte", function()
    local set = {"ip4Src=10.0.0.255..10.0.1.1",
                 "ethDst=02:00:00:00:ff:fe..02:00:00:01:00:01"}
    local seen = {}
    made({set = set}, 12, function (pkt)
      seen[#seen + 1] = pkt.ip4:getSrcString() .. " " .. pkt.eth:getDstString()
    end)
    assert.are.equal("10.0.0.255 02:00:00:00:ff:fe", seen[1])
    assert.are.equal("10.0.1.0 02:00:00:00:ff:fe", seen[2])
    assert.are.equal("10.0.1.1 02:00:00:01:00:01", seen[12])
    local six = {stack = "eth,ip6,udp", set = {"ip6Dst=2001:db8::fffe..2001:db8::1:1"}}
    seen = {}
    made(six, 5, function (pkt) seen[#seen + 1] = pkt.ip6:getDstString() end)
    assert.are.same({"2001:db8::fffe", "2001:db8::ffff", "2001:db8::1:0",
                     "2001:db8::1:1", "2001:db8::fffe"}, seen)
    six.set = {"ip6Dst=2001:db8::1,::1"}
    seen = {}
    made(six, 3, function (pkt) seen[#seen + 1] = pkt.ip6:getDstString() end)
    assert.are.same({"2001:db8::1", "::1", "2001:db8::1"}, seen)
  end)

  it("repeats random values after so many flows, and with the same seed", function()
    local function ports(seed)
      return values({set = {"udpDst=random"}, flows = 20, seed = seed}, 40,
                    fields("udpDst"))
    end
    local once = ports(1)
    for i = 1, 20 do assert.are.equal(once[i], once[i + 20]) end
    assert.are.same(once, ports(1))
    assert.are_not.same(once, ports(2))
    local different, n = {}, 0
    for _, port in ipairs(once) do
      if not different[port] then different[port], n = true, n + 1 end
    end
    assert.is_true(n >= 18)
  end)

  it("sends sizes in their order, all bytes behind the record zero", function()
    local packets = made({size = "60,100,1514"}, 6)
    for i, packet_bytes in ipairs(packets) do
      assert.are.equal(({60, 100, 1514})[(i - 1) % 3 + 1], #packet_bytes)
      assert.are.equal(("\0"):rep(#packet_bytes - 60), packet_bytes:sub(61))
    end
  end)

  it("leaves the record out where there is no room", function()
    local packets, m = made({size = "59,60"}, 4)
    assert.are.equal("some", m:records())
    assert.are.equal(2, m.state.number)
    assert.are.equal(("\0"):rep(17), packets[1]:sub(43))
    assert.are.equal("none", maker.new({size = 42}):records())
    assert.are.equal("all", maker.new({stack = "eth,ip6,tcp"}):records())
  end)

  local STACKS = {
    {set = {"ip4Src=random", "ip4Dst=10.0.0.1..10.0.0.9", "udpSrc=random",
            "udpDst=1..70", "ip4TTL=1..255", "ip4ID=random", "ethSrc=random"}},
    {stack = "eth:vlan,ip4,tcp", set = {"tcpSeqNumber=random", "ethVlan=1..4094",
                                        "ip4Src=random", "tcpWindow=random"}},
    {stack = "eth,ip6,udp", set = {"ip6Src=random:::1..::ffff:ffff:ffff",
                                   "ip6Dst=2001:db8::1..2001:db8::99",
                                   "ip6FlowLabel=random", "udpSrc=random"}},
    {stack = "eth,ip4,icmp", set = {"ip4Src=random", "icmpType=8"}},
    {stack = "eth,ip4,udp,vxlan,innerEth=eth,innerIp4=ip4,innerUdp=udp",
     set = {"vxlanVNI=random", "innerEthSrc=random", "innerIp4Src=random",
            "innerUdpDst=random", "innerIp4TTL=random", "ip4Src=random",
            "udpSrc=random"}},
    {stack = "eth,ip4", set = {"ip4TOS=random", "ip4Src=random"}},
    {stack = "eth,ip4,udp", set = {"ip4Checksum=0x1234", "udpDst=random"}},
    {stack = "eth,ip4,udp", set = {"udpLength=random"}},
    {set = {"ip4Length=100", "ip4Src=random", "udpLength=9"}},
    {stack = "eth,ip4,tcp", set = {"tcpFlags=random", "tcpSyn=1", "tcpFin=1"}},
    {stack = "eth,ip4,sctp", set = {"sctpSrc=random"}},
    {stack = "eth,ip6,tcp", set = {"ip6NextHeader=random", "tcpUrg=random"}},
  }

  it("has the record before a payload for both of which there is no room", function ()
    for _, payload in ipairs{"odd", "even", ("p"):rep(300)} do
      for _, stream in ipairs{0, 63} do
        local o = {payload = payload, size = "59,60,61,64,400", record = "any",
                   set = {"udpSrc=1..9"}, stream = stream}
        local numbers = {}
        local packets, m = made(o, 50, function (pkt, p)
          assert.is_true(pkt:verify())
          local behind = p.length >= 42 + #payload + probe.SIZE
          local at = behind and 42 + #payload or 42
          local number = p.length >= 60 and probe.read(p.data + at) or nil
          if number then numbers[#numbers + 1] = number - stream * probe.SPAN end
        end)
        assert.equal("some", m:records())
        assert.equal(60, m.least)
        assert.equal(40, #numbers)
        assert.same({0, 39}, {numbers[1], numbers[40]})
        for _, data in ipairs(packets) do
          local first = (#data < 60 or #data >= 60 + #payload) and 43 or 61
          local room = math.min(#payload, #data - first + 1)
          assert.equal(payload:sub(1, room), data:sub(first, first + room - 1))
        end
      end
    end
  end)

  it("leaves the record out where none is wanted", function ()
    local packets, m = made({payload = "abc", record = false, size = "45,80"}, 4)
    assert.equal("off", m:records())
    assert.equal(0, m.state.number)
    for _, data in ipairs(packets) do assert.matches("^abc%z*$", data:sub(43)) end
  end)

  it("doesn't number what a function has written over or cut off", function ()
    local _, m = made({size = 100, packet = function (pkt, i)
      if i % 5 == 1 then pkt.payload.uint8[0] = 7 end
      if i % 5 == 2 then pkt.payload.uint8[9] = 200 end
      if i % 5 == 3 then pkt.length = 59 end
    end}, 50)
    assert.equal(20, m.state.number)
    assert.equal("changed", m:records(20))
  end)

  for _, case in ipairs(STACKS) do
    it("has the checksums of " .. (case.stack or "eth,ip4,udp") .. " right with "
       .. case.set[1], function()
      case.size = "160,161,900"
      -- Both stamp their own times: the same bytes only if these don't differ.
      local pg_tsc = maker.clock
      maker.clock = function () return 0x123456789abcdefULL end
      case.slow_checksums = nil
      local fast, m = made(case, 3000)
      case.slow_checksums = true
      local slow = made(case, 3000)
      maker.clock = pg_tsc
      assert.are.equal(3000, m.state.number)
      for i = 1, #slow do assert.are.equal(slow[i], fast[i]) end
    end)
  end

  it("asks a function for each packet, then sets lengths and checksums", function()
    local seen = {}
    made({packet = function (pkt, i)
      pkt.udp:setDstPort(1000 + i)
      if i % 2 == 1 then pkt.length = 60 + i end
      seen[#seen + 1] = i
    end}, 150, function (pkt)
      assert.is_true(pkt:verify())
      local i = pkt.udp:getDstPort() - 1000
      assert.are.equal(i % 2 == 1 and 60 + i or 60, pkt.length)
      assert.are.equal(pkt.length - 34, pkt.udp:getLength())
    end)
    assert.are.equal(150, #seen)
    assert.are.equal(149, seen[150])
  end)

  it("sends what is due, of packets and of bits", function()
    for text, wanted in pairs{["10kpps"] = 11, ["6720kbit"] = 11} do
      local m = maker.new{rate = assert(rate.parse(text))}
      m:burst(output, 1000, 0)
      m:burst(output, 1000, 0.00100001)
      assert.are.equal(wanted, link.nreadable(output))
      while not link.empty(output) do packet.free(link.receive(output)) end
    end
  end)

  it("refuses what it can't make, in a sentence", function()
    for pattern, o in pairs{
      ["of 41 bytes is too short for the headers of the stack, which have 42"] = {
        size = 41,
      },
      ["there is no protocol 'upd'"] = {stack = "eth,ip4,upd"},
      ["'eth,,udp' isn't a stack such as"] = {stack = "eth,,udp"},
      ["has a field 'udpDts'; is 'udpDst' meant?"] = {set = {"udpDts=1"}},
      ["udpDst is set twice"] = {set = {"udpDst=1", "udpDst=2"}},
      ["'udpDst' isn't of the form LABEL=VALUE"] = {set = {"udpDst"}},
      ["make 6 different packets, not 7 flows"] = {set = {"udpDst=1..3", "udpSrc=1,2"},
                                                   flows = 7},
      ["'big' isn't a size"] = {size = "big"},
    } do
      local ok, err = pcall(maker.new, o)
      assert.is_false(ok)
      assert.matches(pattern, tostring(err), 1, true)
    end
  end)
end)
