-- SPDX-License-Identifier: Apache-2.0
-- A Port whose kernel interface goes and comes back: what it counts, and Snabb's alarm.

local absence = require("lib.port.absence")
local counter = require("core.counter")
local port = require("apps.port.port")
local ports = require("testing.ports")
local kinds = require("lib.port.kinds")
local spec = require("lib.port.spec")

local null = kinds.of(spec.parse("null"))

-- Called with a null port that has the interface "lo", which tend() below says is there
-- or not, and a list of what Snabb's alarms were asked for.
local function with_interface(f)
  local said, state = {}, {value = 0}
  package.loaded["lib.yang.alarms"] = {
    add_to_inventory = function () end,
    declare_alarm = function (key, args)
      local text = ("%s %s %s"):format(key.alarm_type_id, key.alarm_type_qualifier,
        args.perceived_severity)
      return {raise = function () said[#said + 1] = "raise " .. text end,
              clear = function () said[#said + 1] = "clear " .. text end}
    end}
  null.interface, null.rejoins = function () return "lo" end, true
  null.tend = function () return state.value end
  local ok, err = pcall(function ()
    f(ports.configure{nic = {port.Port, "null"}}.nic, state, said)
  end)
  ports.clean_up()
  null.interface, null.rejoins, null.tend = nil, nil, nil
  package.loaded["lib.yang.alarms"] = nil
  assert(ok, err)
end

local function tick(nic)
  nic.next_check = 0
  nic:tick()
  return {tonumber(counter.read(nic.shm.interface_losses)),
          tonumber(counter.read(nic.shm.interface_away))}
end

describe("a Port's interface that goes", function ()
  it("is counted, and told by an alarm until it is back", function ()
    with_interface(function (nic, state, said)
      assert.same({0, 0}, tick(nic))
      assert.same({}, said)
      for times = 1, 2 do
        state.value = -1
        assert.same({times, 1}, tick(nic))
        assert.same({times, 1}, tick(nic))
        assert.equal(2 * times - 1, #said)
        state.value = 0
        assert.same({times, 0}, tick(nic))
        assert.same({times, 0}, tick(nic))
      end
      assert.same({"raise port-interface null critical",
        "clear port-interface null critical", "raise port-interface null critical",
        "clear port-interface null critical"}, said)
    end)
  end)

  it("is looked for as long as it takes", function ()
    with_interface(function (nic, state)
      state.value = -1
      for _ = 1, 1000 do tick(nic) end
      assert.equal("", nic.description.away)
      assert.is_nil(absence.look(nic.description, nic.port))
      state.value = 0
      assert.equal("back", absence.look(nic.description, nic.port))
    end)
  end)
end)
