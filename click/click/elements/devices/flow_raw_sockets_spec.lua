-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local drops = require("core.fuse.drops")
local packet_socket = require("click.devices.packet_socket")
local unistd = require("posix.unistd")

-- An address of the loopback for this process alone.
local pid = unistd.getpid()
local OWN = ("127.%d.%d.10"):format(pid / 256 % 256 + 1, pid % 256)

local may_open = packet_socket.open(packet_socket.INET, packet_socket.RAW, 255)
if may_open then may_open:close() end

-- A server that sends back what it gets; and what sends to it by the element s, whose
-- answers are counted by `c`. Run for ten seconds at most; the router, to be closed.
local function run(arguments, way, script)
  local text = ([[
    u :: Socket(UDP, OWN, 2000) -> Queue -> u;
    source :: RatedSource(hello, 200, LIMIT %s) -> UDPIPEncap(OWN, 3000, OWN, 2000)
      -> %s -> s :: IPFlowRawSockets(%s) -> IPFilter(allow src OWN) -> CheckIPHeader
      -> c :: Counter%s -> Discard; %s; Script(wait 10, stop)]]):format(
    way.limit or -1, way[1], arguments, way.stops or "(COUNT_CALL 3 stop)",
    script or "")
  text = text:gsub("OWN", OWN)
  local r = assert(click.router(text, {simtime = false}))
  r:run()
  return r
end

local function count(r) return tonumber((r:handler_read("c.count"))) end

describe("IPFlowRawSockets", function ()
  it("says what it can't do", function ()
    local _, problem = click.router("Idle -> IPFlowRawSockets(NOTIFIER d) "
      .. "-> d :: Discard", {simtime = false})
    assert.matches("NOTIFIER", problem, 1, true)
  end)

  if not may_open then
    return pending("needs CAP_NET_RAW, which this process hasn't")
  end

  it("sends packets of flows, and gets the answers to them", function ()
    for _, case in ipairs{
      {"", {"AggregateIPFlows"}}, {"PCAP false", {"AggregateIPFlows"}},
      {"NOTIFIER f", {"f :: AggregateIPFlows"}}, {"", {"AggregateIPFlows -> Queue"}},
      {"", {"SetPacketType(HOST) -> AggregateIPFlows -> Paint(0)"}},
    } do
      local r = run(case[1], case[2])
      assert.is_true(count(r) >= 3)
      r:close()
    end
  end)

  it("sends nothing that has no flow", function ()
    local r = run("", {"Null", limit = 5},
      "Script(label again, wait 10ms, goto again $(lt $(source.count) 5), stop)")
    assert.equal(0, count(r))
    assert.equal(5, tonumber(drops.of(r:find("s"))["no flow of TCP or UDP"]))
    r:close()
  end)

  it("gets nothing that it has not asked for, or has forgotten", function ()
    local r = run("", {"AggregateIPFlows", limit = 2, stops = ""}, [[
      RatedSource(stranger, 100, 3) -> UDPIPEncap(OWN, 2000, OWN, 3001) -> Queue
        -> RawSocket(UDP);
      Script(label again, wait 10ms, goto again $(lt $(c.count) 2), write s.clear,
        stop)]])
    local s = r:find("s")
    assert.equal(2, count(r))
    assert.is_nil(next(s.flows))
    assert.is_nil(next(s.keys))
    r:close()
  end)

  it("forgets flows that are over", function ()
    local r = run("NOTIFIER f", {"f :: AggregateIPFlows", limit = 1, stops = ""}, [[
      Script(label again, wait 10ms, goto again $(lt $(c.count) 1), write f.clear,
        wait 400ms, stop)]])
    assert.is_nil(next(r:find("s").flows))
    r:close()
  end)
end)
