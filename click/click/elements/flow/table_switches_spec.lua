-- SPDX-License-Identifier: Apache-2.0
-- IPRRSwitch and FlowMinLoadSwitch.

local click = require("testing.click")

local function run(switch)
  local text = {"InfiniteSource(hello, 36, STOP true) -> s :: RoundRobinSwitch;",
    ("h :: Null -> f :: %s;"):format(switch)}
  for i = 0, 11 do
    text[#text + 1] = ("s[%d] -> UDPIPEncap(10.0.0.%d, %d, 10.0.0.9, 53) -> h;")
      :format(i, i + 1, 1000 + i)
  end
  for i = 0, 2 do
    text[#text + 1] = ("f[%d] -> m%d :: FlowIPManager -> c%d :: Counter -> Discard;")
      :format(i, i, i)
  end
  local r = click.run(table.concat(text, " "))
  local packets, flows = {}, {}
  for i = 0, 2 do
    packets[i + 1] = tostring(r:handler_read(("c%d.count"):format(i)))
    flows[i + 1] = tostring(r:handler_read(("m%d.count"):format(i)))
  end
  local all = tostring(r:handler_read("f.flow_count"))
  r:close()
  return packets, flows, all
end

describe("IPRRSwitch and FlowMinLoadSwitch", function ()
  it("send each flow to one output, and as many flows to each", function ()
    for _, switch in ipairs{"IPRRSwitch", "FlowMinLoadSwitch"} do
      local packets, flows, all = run(switch)
      assert.same({"12", "12", "12"}, packets)
      assert.same({"4", "4", "4"}, flows)
      assert.equal("12", all)
    end
  end)

  it("use the first MAX outputs alone", function ()
    local packets = run("IPRRSwitch(MAX 2)")
    assert.same({"18", "18", "0"}, packets)
    local unit = click.unit("IPRRSwitch(MAX 3)", {outputs = 2})
    assert.same({"MAX 3, of 2 outputs"}, unit.errors)
  end)

  it("drop what has no IP header", function ()
    local unit = click.unit("FlowMinLoadSwitch", {outputs = 2})
    assert.same({}, unit:send("abc"))
    assert.same({["no IPv4 header"] = 1}, unit.lost)
  end)
end)
