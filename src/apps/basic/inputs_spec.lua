-- SPDX-License-Identifier: Apache-2.0
-- Apps with several inputs have a loop over these around the loop over a burst:
-- LuaJIT must not give up on either, whatever bursts come first. In processes of
-- their own.

local testing = require("testing.support")

local VARYING = [[
  local basic = require("apps.basic.basic_apps")
  local jit_health = require("core.watch.health")
  local mode = tonumber((...))
  local Varying = {}
  function Varying:new() return setmetatable({n = 0}, {__index = Varying}) end
  local function emit(output, n)
    for _ = 1, n do link.transmit(output, packet.allocate()) end
  end
  function Varying:pull()
    self.n = self.n + 1
    for i = 1, #self.output do
      local phase = math.floor(self.n / 2000) + i + mode
      emit(self.output[i], ({0, 1, math.random(0, 3), 200, 50})[phase % 5 + 1])
    end
  end
  local c = config.new()
  config.app(c, "from", Varying)
  for _, name in ipairs{"Join", "Split", "Tee", "Sink"} do
    config.app(c, name:lower(), basic[name])
  end
  for _, spec in ipairs{"from.a -> sink.a", "from.b -> join.a", "from.c -> join.b",
      "from.d -> split.a", "from.e -> tee.a", "from.f -> tee.b",
      "join.output -> sink.b", "split.a -> sink.c", "split.b -> sink.d",
      "tee.a -> sink.e", "tee.b -> sink.f"} do
    config.link(c, spec)
  end
  engine.configure(c)
  local breaths = 0
  engine.busywait = true
  engine.main{no_report = true, done = function ()
    breaths = breaths + 1
    return breaths == 12000
  end}
  for _, event in ipairs(jit_health.events()) do
    if event.packet_path and event.app and event.kind == "blacklisted" then
      print(event.app, event.kind, event.file, event.line, event.reason)
    end
  end]]

describe("apps with several inputs #slow", function ()
  for mode = 1, 5 do
    it("are compiled, whatever comes first: " .. mode, function ()
      local said, status = testing.script(VARYING, {"--eal", "--no-huge"}, {mode .. ""})
      assert.equal("", (said:gsub("perigee: the packet pool has grown[^\n]*\n", "")))
      assert.equal(0, status)
    end)
  end
end)
