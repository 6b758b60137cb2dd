-- SPDX-License-Identifier: Apache-2.0
-- Flows of packets, beside a Lua table of their keys; and what can go wrong.

local ffi = require("ffi")

local click = require("testing.click")
local dumps = require("testing.click_dumps")
local note = require("click.note")
local packet = require("core.packet")
local state = require("click.flow.state")

local FIELDS = "src sport dst dport proto"

local function packet_of(line, fields) return dumps.packet(fields or FIELDS, line) end

-- The flow's number that the packet of a line gets; nil if it is dropped.
local function number_of(unit, line, fields)
  local p = unit:pass(packet_of(line, fields))
  if not p then return nil end
  local number = state.number(p)
  packet.free(p)
  return number
end

describe("A flow manager", function ()
  it("gives each flow a number: by addresses, protocol and ports", function ()
    local unit = click.unit("FlowIPManager")
    assert.same({}, unit.errors)
    for i, line in ipairs{
      "1.0.0.1 1 2.0.0.2 2 T", "1.0.0.1 1 2.0.0.2 2 U", "1.0.0.1 1 2.0.0.2 3 T",
      "1.0.0.1 2 2.0.0.2 2 T", "1.0.0.2 1 2.0.0.2 2 T", "1.0.0.1 1 2.0.0.3 2 T",
      "2.0.0.2 2 1.0.0.1 1 T",
    } do
      assert.equal(i, number_of(unit, line))
      assert.equal(i, number_of(unit, line))
    end
    assert.equal(7, unit:read("count"))
    assert.equal(65536 - 7, unit:read("count_fids"))
  end)

  it("knows as many flows as a table of their keys does", function ()
    local unit, known, n = click.unit("FlowIPManagerIMP(CAPACITY 4096)"), {}, 0
    math.randomseed(7)
    for _ = 1, 3000 do
      local line = ("1.0.0.%d %d 2.0.0.%d %d %s"):format(math.random(4),
        math.random(8), math.random(4), math.random(8), ({"T", "U"})[math.random(2)])
      if not known[line] then
        n = n + 1
        known[line] = n
      end
      assert.equal(known[line], number_of(unit, line))
    end
    assert.equal(n, unit:read("count"))
  end)

  it("takes later fragments and other protocols by addresses alone", function ()
    local unit = click.unit("FlowIPManager")
    local fields = "src dst ip_fragoff proto"
    assert.equal(1, number_of(unit, "1.0.0.1 2.0.0.2 8+ U", fields))
    assert.equal(1, number_of(unit, "1.0.0.1 2.0.0.2 800+ U", fields))
    assert.equal(2, number_of(unit, "1.0.0.1 2.0.0.2 47", "src dst proto"))
  end)

  it("drops what has no IPv4 header", function ()
    local unit = click.unit("FlowIPManager")
    assert.same({}, unit:send("no header"))
    local p = packet.from_string("\96" .. ("\0"):rep(59))
    note.clear(p)
    p.note16[note.NETWORK_HEADER] = p.data_off
    assert.same({}, unit:send(p))
    local short = packet.from_string("\69" .. ("\0"):rep(18))
    note.clear(short)
    short.note16[note.NETWORK_HEADER] = short.data_off
    assert.same({}, unit:send(short))
    assert.same({["no IPv4 header"] = 3}, unit.lost)
    assert.equal(0, unit:read("count"))
  end)

  it("drops packets of more flows than it has room for, until some end", function ()
    local unit = click.unit("FlowIPManager(2, TIMEOUT 10)")
    assert.equal(1, number_of(unit, "1.0.0.1 1 2.0.0.2 2 T"))
    unit:wait(5)
    assert.equal(2, number_of(unit, "1.0.0.1 2 2.0.0.2 2 T"))
    assert.is_nil(number_of(unit, "1.0.0.1 3 2.0.0.2 2 T"))
    assert.is_nil(number_of(unit, "1.0.0.1 4 2.0.0.2 2 T"))
    assert.same({["no room for its flow"] = 2}, unit.lost)
    assert.same({"e: Cannot add key (have 2 items)!"}, unit.said)
    assert.equal(2, number_of(unit, "1.0.0.1 2 2.0.0.2 2 T"))
    unit:wait(6)
    assert.equal(1, unit:read("count"))
    assert.equal(1, number_of(unit, "1.0.0.1 3 2.0.0.2 2 T"))
  end)

  it("makes room at once where a flow's time is over", function ()
    local unit = click.unit("FlowIPManager(1, TIMEOUT 10, RECYCLE_INTERVAL 100)")
    assert.equal(1, number_of(unit, "1.0.0.1 1 2.0.0.2 2 T"))
    unit:wait(9)
    assert.is_nil(number_of(unit, "1.0.0.1 2 2.0.0.2 2 T"))
    unit:wait(1)
    assert.equal(1, number_of(unit, "1.0.0.1 2 2.0.0.2 2 T"))
    assert.is_nil(number_of(unit, "1.0.0.1 1 2.0.0.2 2 T"))
  end)

  it("keeps flows for ever where there is no timeout", function ()
    for _, name in ipairs{"FlowIPManagerHMP", "FlowIPManagerIMP", "FlowIPManager_DPDK",
                          "FlowIPManager_CuckooPP"} do
      local unit = click.unit(name .. "(4)")
      assert.equal(1, number_of(unit, "1.0.0.1 1 2.0.0.2 2 T"))
      unit:wait(1e6)
      assert.equal(1, number_of(unit, "1.0.0.1 1 2.0.0.2 2 T"))
    end
  end)

  it("finds the flows of a burst beforehand, and others all the same", function ()
    local unit, lines, packets = click.unit("FlowIPManagerIMP"), {}, {}
    for i = 1, 300 do
      lines[i] = ("1.0.0.1 %d 2.0.0.2 2 T"):format(i % 100)
      if i % 3 == 0 then number_of(unit, lines[i]) end
    end
    local numbers = {}
    for _ = 1, 2 do
      local list = ffi.new("struct packet *[?]", #lines)
      for i, line in ipairs(lines) do
        packets[i] = packet_of(line)
        list[i - 1] = packets[i]
      end
      unit.element:ahead(list, #lines)
      unit.element:end_flow(state.number(unit:pass(packets[3]))) -- out of its turn
      for i, line in ipairs(lines) do
        local p = i == 3 and packet_of(line) or packets[i]
        local number = state.number(unit:pass(p))
        packet.free(p)
        assert.equal(number_of(unit, line), number)
        numbers[line] = number
      end
      packet.free(packets[3])
    end
    local seen = {}
    for _, number in pairs(numbers) do seen[number] = true end
    local n = 0
    for _ in pairs(seen) do n = n + 1 end
    assert.equal(100, n)
    assert.equal(100, unit:read("count"))
  end)

  it("refuses a capacity that no table has", function ()
    assert.same({"CAPACITY: must be at least 1"}, click.unit("FlowIPManager(0)").errors)
    assert.equal(1, #click.unit("FlowIPManager(4000000000)").errors)
  end)
end)
