-- SPDX-License-Identifier: Apache-2.0

local click = require("testing.click")

-- A router with `n` packets of each of 12 flows, of UDP, in front of the element, and a
-- counter behind each of its three outputs.
local function router(switch, n)
  local text = {("InfiniteSource(hello, %d, STOP true) -> s :: RoundRobinSwitch;")
    :format(12 * n), ("m :: FlowIPManager(TIMEOUT 100) -> f :: %s;"):format(switch)}
  for i = 0, 11 do
    text[#text + 1] = ("s[%d] -> UDPIPEncap(10.0.0.%d, %d, 10.0.0.9, 53) -> m;")
      :format(i, i % 5 + 1, 1000 + i)
  end
  for i = 0, 2 do
    local behind = "f[%d] -> c%d :: Counter -> a%d :: FlowCounter -> Discard;"
    text[#text + 1] = behind:format(i, i, i)
  end
  return click.router(table.concat(text, " "))
end

local function read(r, text)
  return tonumber((tostring(assert(r:handler_read(text)))))
end

-- Packets and flows of each output.
local function after(switch, n)
  local r = assert(router(switch, n))
  r:run()
  local packets, flows = {}, {}
  for i = 0, 2 do
    packets[i + 1] = read(r, ("c%d.count"):format(i))
    flows[i + 1] = read(r, ("a%d.count"):format(i))
  end
  r:close()
  return packets, flows
end

describe("FlowSwitch, FlowRoundRobinSwitch", function ()
  it("send a flow's packets to one output, flows in turn", function ()
    for _, switch in ipairs{"FlowSwitch", "FlowRoundRobinSwitch",
                            "FlowSwitch(LB_MODE rr)"} do
      local packets, flows = after(switch, 5)
      assert.same({20, 20, 20}, packets)
      assert.same({4, 4, 4}, flows)
    end
  end)

  it("choose by hash and by load", function ()
    for _, mode in ipairs{"hash", "hash_crc", "least, LST_MODE packets", "pow2"} do
      local packets, flows = after("FlowSwitch(LB_MODE " .. mode .. ")", 4)
      local all = 0
      for i = 1, 3 do
        assert.equal(4 * flows[i], packets[i])
        all = all + flows[i]
      end
      assert.equal(12, all)
    end
  end)

  it("says which mode there isn't, and needs a flow manager", function ()
    local _, problem = router("FlowSwitch(LB_MODE best)", 1)
    assert.matches("LB_MODE: 'best' is none of rr", problem)
    _, problem = click.router("Idle -> f :: FlowSwitch -> Discard")
    assert.matches("FlowSwitch", problem)
  end)
end)
