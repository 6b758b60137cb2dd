-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.support")

describe("cycles_publish", function ()
  it("makes few counters, however many apps come and go", function ()
    local said, status = testing.script[[
      local objects = require("lib.observe.objects")
      local publish = require("core.watch.cycles_publish")
      local shm = require("core.shm")
      local totals = {samples = 1, tasks = {}}
      for _, name in ipairs{"receive", "send", "empty", "sleep", "engine", "breaths",
                            "packets", "tsc"} do
        totals[name] = 0
      end
      for round = 1, 100 do
        totals.tasks = {stays = round, ["push round/" .. round] = 1}
        publish.all(totals)
      end
      require("core.counter").commit()
      local n, tasks = 0, objects.all(shm.path("engine/cycles/tasks"))
      for _ in pairs(tasks) do n = n + 1 end
      local sum = objects.all(shm.path("engine/cycles")).tasks
      print(n, tonumber(tasks.stays.value), tonumber(sum.value))]]
    assert.equal(0, status)
    assert.matches("^64\t100\t101\n", said)
  end)
end)
