-- SPDX-License-Identifier: Apache-2.0
-- Shares of a capture file: each packet comes to the one copy that handing out in
-- software would give it to, and each flow in order.

local C = require("core.native")
local Port = require("apps.port.port").Port
local balancer = require("core.cpus.balancer")
local engine = require("core.app")
local ports = require("testing.ports")
local take = require("testing.support").take

after_each(ports.clean_up)

local COPIES = 3

-- Packet number `k`, of a flow of so many.
local function frame(k, flows)
  local flow = k * 7 % flows
  return ("\2\0\0\0\0\1\2\0\0\0\0\10\8\0\69\0\0\36\0\0\0\0\64\17\0\0\10\0\0\1\10\0\0\2")
    .. string.char(math.floor(flow / 256), flow % 256) .. "\0\53\0\16\0\0"
    .. ("%08d"):format(k)
end

local function list_of(n, flows)
  local list = {}
  for k = 1, n do list[k] = frame(k, flows) end
  return list
end

local function of_copy(list, copy)
  local own = {}
  for _, s in ipairs(list) do
    if C.pg_copy_for_frame(s, #s, COPIES, C.FLOWS_BY_PORTS) == copy then
      own[#own + 1] = s
    end
  end
  return own
end

local function nic(path, copy, meets)
  local arg = Port.split("pcap:rx=" .. path, COPIES, copy, meets)
  return ports.configure({nic = {Port, arg}, e = {ports.Idle}},
    {"nic.output -> e.x"}).nic
end

local function received(app, enough)
  local all = {}
  for _ = 1, 100 do
    engine.breathe()
    for _, s in ipairs(take(app.output.output)) do all[#all + 1] = s end
    if app:ended() or #all >= enough then break end
  end
  return all
end

describe("a share of a capture file", function ()
  it("has what the copy would be handed out, in order, to the file's end", function ()
    local list = list_of(2000, 90)
    local path, sum = ports.capture(list), 0
    for copy = 0, COPIES - 1 do
      local app = nic(path, copy, "flow")
      local got = received(app, math.huge)
      assert.same(of_copy(list, copy), got)
      assert.is_true(app:ended())
      assert.equal(#got, app:statistics().ipackets)
      sum = sum + #got
    end
    assert.equal(2000, sum)
  end)

  it("comes over and over with loop=1", function ()
    local list = list_of(50, 9)
    local path = ports.capture(list)
    for copy = 0, COPIES - 1 do
      local own = of_copy(list, copy)
      local got = received(nic(path .. ",loop=1", copy, "flow"), 3 * #own)
      for i, s in ipairs(got) do assert.equal(own[(i - 1) % #own + 1], s) end
    end
  end)

  it("may have nothing", function ()
    local list = list_of(5000, 1)
    local path = ports.capture(list)
    for copy = 0, COPIES - 1 do
      local n = #of_copy(list, copy)
      assert.equal(n, #received(nic(path, copy, "flow"), math.huge))
      if n == 0 then
        local app = nic(path .. ",loop=1", copy, "flow")
        for _ = 1, 5 do engine.breathe() end
        assert.equal(0, app:statistics().ipackets)
      end
    end
  end)

  it("isn't had of a pipe, of a file to write, or where flows are to move", function ()
    local path = ports.capture(list_of(3, 3))
    assert.is_table(Port.split("pcap:rx=" .. path, 2, 0, "within"))
    assert.is_nil(Port.split("pcap:rx=" .. path, 2, 0))
    assert.is_nil(Port.split("pcap:rx=/dev/null", 2, 0, "flow"))
    assert.is_nil(Port.split("pcap:tx=" .. path, 2, 0, "flow"))
    balancer.want()
    assert.is_nil(Port.split("pcap:rx=" .. path, 2, 0, "flow"))
    balancer.want(0)
  end)
end)
