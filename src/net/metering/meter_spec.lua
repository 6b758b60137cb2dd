-- SPDX-License-Identifier: Apache-2.0

local cjson = require("cjson")
local ffi = require("ffi")
local link = require("core.link")
local meter = require("net.metering.meter")
local packet = require("core.packet")

local C = meter.native

-- The bytes of a frame: {v6 =, from =, to = (last byte of each address), protocol =,
-- sport =, dport =, flags =, vlans =, fragment = (IPv4's word), size = of the payload}.
local function word(n) return string.char(math.floor(n / 256), n % 256) end

local function l4_of(f)
  if f.raw then return f.raw end
  local ports = word(f.sport or 1) .. word(f.dport or 2)
  if f.protocol == 6 then
    return ports .. ("\0"):rep(8) .. "\80" .. string.char(f.flags or 16)
      .. ("\0"):rep(6 + (f.size or 0))
  end
  return ports .. ("\0"):rep(4 + (f.size or 0))
end

local function frame(f)
  f.protocol = f.protocol or 17
  local l4, tags = l4_of(f), ""
  for _, vlan in ipairs(f.vlans or {}) do tags = tags .. "\x81\0" .. word(vlan) end
  local macs = ("\0"):rep(12)
  if f.v6 then
    return macs .. tags .. "\x86\xdd" .. "\x60\0\0\0" .. word(#l4)
      .. string.char(f.protocol) .. "\64" .. ("\0"):rep(15) .. string.char(f.from or 1)
      .. ("\0"):rep(15) .. string.char(f.to or 2) .. l4
  end
  return macs .. tags .. "\8\0" .. "\x45\0" .. word(20 + #l4) .. "\0\0"
    .. word(f.fragment or 0) .. "\64" .. string.char(f.protocol) .. "\0\0"
    .. "\10\0\0" .. string.char(f.from or 1) .. "\10\0\0" .. string.char(f.to or 2)
    .. l4
end

describe("a meter of flows", function ()
  local m, told, wire

  -- Keeps records as tables, from the lines that files get.
  local exporter = {}
  function exporter.put(_, records, n)
    local text = ffi.new("char[?]", 600)
    for i = 0, n - 1 do
      local length = C.pg_meter_line(records[i], '"p"', text, 600)
      table.insert(told, cjson.decode(ffi.string(text, length)))
    end
  end
  function exporter.work() end
  function exporter.finish() end

  local function start(options)
    told = {}
    options.exporters = {exporter}
    m = meter.new(options)
    wire = link.new("meter_spec")
  end

  after_each(function ()
    link.free(wire, "meter_spec")
  end)

  local function drain(input)
    local n = link.nreadable(wire)
    m:take(wire, n, input or 0)
    for _ = 1, n do packet.free(link.receive(wire)) end
  end

  local function send(frames, input)
    for i, f in ipairs(frames) do
      link.transmit(wire, packet.from_string(type(f) == "string" and f or frame(f)))
      if i % 200 == 0 then drain(input) end
    end
    drain(input)
  end

  local function later(seconds)
    m.meter.now = m.meter.now + ffi.cast("uint64_t", seconds * 1e9)
  end

  local function work()
    m.due = 0
    return m:work(1)
  end

  it("tells flows apart by ends, protocol, VLANs and input", function ()
    start{}
    local kinds = {{}, {from = 3}, {to = 3}, {sport = 3}, {dport = 3}, {protocol = 6},
      {v6 = true}, {vlans = {7}}, {vlans = {7, 8}}, {vlans = {8, 7}}}
    for _, kind in ipairs(kinds) do send{kind, kind} end
    send({{}}, 1)
    assert.equal(#kinds + 1, m:counts().flows)
    m:finish()
    assert.equal(#kinds + 1, #told)
    local seen = {}
    for _, line in ipairs(told) do
      seen[#seen + 1] = ("%s %s %d %d %d %s %s %d %d"):format(line.source,
        line.destination, line.protocol, line.source_port, line.destination_port,
        line.vlan or "-", line.inner_vlan or "-", line.packets, line.bytes)
    end
    table.sort(seen)
    assert.same({
      "10.0.0.1 10.0.0.2 17 1 2 - - 1 28", "10.0.0.1 10.0.0.2 17 1 2 - - 2 56",
      "10.0.0.1 10.0.0.2 17 1 2 7 - 2 56", "10.0.0.1 10.0.0.2 17 1 2 7 8 2 56",
      "10.0.0.1 10.0.0.2 17 1 2 8 7 2 56", "10.0.0.1 10.0.0.2 17 1 3 - - 2 56",
      "10.0.0.1 10.0.0.2 17 3 2 - - 2 56", "10.0.0.1 10.0.0.2 6 1 2 - - 2 80",
      "10.0.0.1 10.0.0.3 17 1 2 - - 2 56", "10.0.0.3 10.0.0.2 17 1 2 - - 2 56",
      "::1 ::2 17 1 2 - - 2 96"}, seen)
  end)

  it("reads ICMP's type, and no ports where there are none", function ()
    start{}
    send{{protocol = 1, raw = "\8\0\0\0\0\0\0\0"}, {protocol = 58, v6 = true,
      raw = "\135\0\0\0"}, {fragment = 100, size = 8}, {fragment = 0x2000, size = 8},
      {raw = "\0\1"}, {protocol = 89, raw = "abcdefgh"},
      ("\0"):rep(12) .. "\8\6" .. ("\0"):rep(46), "short"}
    m:finish()
    local counts = m:counts()
    assert.same({6, 2, 1, 1}, {counts.packets, counts.not_ip, counts.fragments,
      counts.cut})
    local icmp = {}
    for _, line in ipairs(told) do
      if line.icmp_type then icmp[line.protocol] = line.icmp_type end
    end
    assert.same({[1] = 8, [58] = 135}, icmp)
  end)

  it("ends flows that are idle, and tells of active ones", function ()
    start{idle = 10, active = 25}
    for i = 1, 6 do
      send{{sport = 9}}
      if i == 1 then send{{sport = 5}} end
      later(9)
      while not work() do end
    end
    assert.equal(2, #told)
    assert.same({"idle", 5, 1}, {told[1]["end"], told[1].source_port,
      told[1].packets})
    assert.same({"active", 9, 3}, {told[2]["end"], told[2].source_port,
      told[2].packets})
    assert.near(18, told[2].last - told[2].first, 1)
    m:finish()
    assert.same({"flushed", 3}, {told[3]["end"], told[3].packets})
    assert.equal(2, m:counts().flows)
  end)

  it("ends a connection a little after its FIN or RST", function ()
    start{}
    send{{protocol = 6, flags = 2}, {protocol = 6, flags = 16},
      {protocol = 6, flags = 17}, {protocol = 6, flags = 16},
      {protocol = 6, from = 9, flags = 4}}
    assert.is_true(work())
    assert.equal(0, #told)
    later(3)
    assert.is_true(work())
    assert.equal(2, #told)
    table.sort(told, function (a, b) return a.packets > b.packets end)
    assert.same({"finished", "ASF", 4}, {told[1]["end"], told[1].tcp_flags,
      told[1].packets})
    assert.same({"finished", "R", 1}, {told[2]["end"], told[2].tcp_flags,
      told[2].packets})
    -- the same ports at once for another connection
    send{{protocol = 6, flags = 17}, {protocol = 6, flags = 2}, {protocol = 6}}
    work()
    assert.equal(3, #told)
    assert.same({"finished", "AF", 1}, {told[3]["end"], told[3].tcp_flags,
      told[3].packets})
    m:finish()
    assert.same({"flushed", "AS", 2}, {told[4]["end"], told[4].tcp_flags,
      told[4].packets})
  end)

  -- Whatever happens: each packet of a flow is in one record.
  local function conserve(sent)
    m:finish()
    local packets, octets = 0, 0
    for _, line in ipairs(told) do
      packets, octets = packets + line.packets, octets + line.bytes
    end
    local counts = m:counts()
    assert.equal(sent, packets + counts.refused + counts.not_ip)
    assert.same({counts.packets, counts.bytes}, {packets, octets})
    assert.equal(0, counts.live)
    local by = {}
    for _, line in ipairs(told) do by[line["end"]] = (by[line["end"]] or 0) + 1 end
    for why, n in pairs(counts.ended) do assert.equal(by[why] or 0, n) end
    return counts
  end

  local function many(n, ports)
    local list, dice = {}, 12345
    for i = 1, n do
      dice = (dice * 1103515245 + 12345) % 2^31
      list[i] = {sport = math.floor(dice / 256) % ports, protocol = dice % 3 == 0 and 6
        or 17, flags = i % 7 == 0 and 17 or 16}
    end
    return list
  end

  it("loses no packet where a full table evicts", function ()
    start{limit = 50, full = "evict"}
    send(many(6000, 300))
    local counts = conserve(6000)
    assert.equal(0, counts.refused)
    assert.is_true(counts.ended.evicted > 1000)
    assert.equal(counts.flows, #told)
  end)

  it("counts packets that a full table refuses", function ()
    start{limit = 50, full = "refuse"}
    send(many(6000, 300))
    local counts = conserve(6000)
    assert.is_true(counts.refused > 1000)
    assert.equal(0, counts.ended.evicted)
  end)

  it("is as a table in Lua counts them", function ()
    start{}
    local list, wanted = many(4000, 200), {}
    for _, f in ipairs(list) do
      f.flags = 16
      local key = f.protocol .. ":" .. f.sport
      wanted[key] = (wanted[key] or 0) + 1
    end
    send(list)
    conserve(4000)
    local got = {}
    for _, line in ipairs(told) do
      got[line.protocol .. ":" .. line.source_port] = line.packets
    end
    assert.same(wanted, got)
  end)

  it("takes packets that are garbage", function ()
    start{}
    local list, dice = {}, 99
    for i = 1, 5000 do
      local f = frame{v6 = i % 2 == 0, protocol = ({6, 17, 1, 44, 43, 0})[i % 6 + 1],
        vlans = i % 5 == 0 and {i % 4096} or nil}
      dice = (dice * 1103515245 + 12345) % 2^31
      local at = math.floor(dice / 16) % #f
      f = f:sub(1, at) .. string.char(dice % 251) .. f:sub(at + 2)
      list[i] = i % 3 == 0 and f:sub(1, math.floor(dice / 64) % #f + 1) or f
    end
    send(list)
    conserve(5000)
  end)

  it("refuses what can't be", function ()
    wire = link.new("meter_spec")
    assert.has_error(function () meter.new{idle = 0} end)
    assert.has_error(function () meter.new{active = "x"} end)
    assert.has_error(function () meter.new{full = "both"} end)
    assert.is_true(meter.bytes(2^20) > 2^20 * 128)
  end)
end)
