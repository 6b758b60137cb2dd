-- SPDX-License-Identifier: Apache-2.0

local alarms = require("lib.alarms")

local ARP = {resource = "eth0/0", alarm_type_id = "arp-resolution", description = "d",
  perceived_severity = "critical", alarm_text = "no answer"}
local FILTERED = {resource = "eth0/0", alarm_type_id = "filtered-packets",
  alarm_type_qualifier = "ingress-v4", description = "e",
  perceived_severity = "warning", alarm_text = "many"}

local function made(heard)
  local list = alarms.new(heard)
  list:declare({ARP, FILTERED}, 0)
  return list
end

local function raised(list) return list:state().alarms.alarm_list.alarm end

describe("a list of alarms", function ()
  it("has those that were raised, once, and when", function ()
    local told = {}
    local list = made(function (what) told[#told + 1] = what end)
    assert.same({}, raised(list))
    list:clear(ARP, 1)
    list:raise(ARP, 2)
    list:raise(ARP, 3)
    list:clear(ARP, 4)
    list:clear(ARP, 5)
    assert.same({{resource = "eth0/0", alarm_type_id = "arp-resolution",
      alarm_type_qualifier = "", time_created = 2, last_changed = 4, is_cleared = true,
      perceived_severity = "critical", alarm_text = "no answer",
      operator_state_change = {}, status_change = {
        {time = 2, perceived_severity = "critical", alarm_text = "no answer"},
        {time = 4, perceived_severity = "cleared", alarm_text = "no answer"}}}},
      raised(list))
    assert.same({"alarm-inventory-changed", "alarm-notification",
      "alarm-notification"}, told)
  end)

  it("knows which there may be, and clears those that there may not", function ()
    local list = made()
    list:raise(FILTERED, 1)
    local types = list:state().alarms.alarm_inventory.alarm_type
    assert.same({"arp-resolution", "filtered-packets"},
      {types[1].alarm_type_id, types[2].alarm_type_id})
    assert.same({"eth0/0"}, types[2].resource)
    list:declare({ARP}, 2)
    assert.is_true(raised(list)[1].is_cleared)
    assert.equal(1, #list:state().alarms.alarm_inventory.alarm_type)
  end)

  it("keeps no more changes than there is room for", function ()
    local list = made()
    for i = 1, 100 do
      list:raise(ARP, 2 * i)
      list:clear(ARP, 2 * i + 1)
      list:set_operator_state(ARP, "ack", nil, i)
    end
    local alarm = raised(list)[1]
    assert.equal(32, #alarm.status_change)
    assert.equal(201, alarm.status_change[32].time)
    assert.equal(32, #alarm.operator_state_change)
    assert.equal(1, list:compress{resource = "eth0/0"})
    assert.equal(0, list:compress{alarm_type_id = "other"})
    assert.same({{time = 201, perceived_severity = "cleared",
      alarm_text = "no answer"}}, alarm.status_change)
  end)

  it("puts aside what operators don't want to hear of", function ()
    local told = 0
    local list = made(function () told = told + 1 end)
    list:raise(ARP, 1)
    list:set_operator_state(ARP, "shelved", "I know", 2)
    local before = told
    list:clear(ARP, 3)
    list:raise(ARP, 4)
    assert.equal(before, told)
    local state = list:state().alarms
    assert.same({0, 1}, {state.alarm_list.number_of_alarms,
      state.shelved_alarms.number_of_shelved_alarms})
    assert.equal(3, #state.shelved_alarms.shelved_alarm[1].status_change)
    assert.has_error(function () list:set_operator_state(ARP, "ack", nil, 5) end)
    list:set_operator_state(ARP, "un-shelved", nil, 6)
    assert.equal("un-shelved", raised(list)[1].operator_state_change[2].state)
    for _, wrong in ipairs{"un-shelved", "open"} do
      assert.has_error(function () list:set_operator_state(ARP, wrong, nil, 7) end)
    end
  end)

  it("sums up by severity", function ()
    local list = made()
    list:raise(ARP, 1)
    list:raise(FILTERED, 1)
    list:clear(FILTERED, 2)
    list:set_operator_state(FILTERED, "closed", nil, 3)
    assert.same({
      {severity = "critical", total = 1, cleared = 0, cleared_not_closed = 0,
        cleared_closed = 0, not_cleared_closed = 0, not_cleared_not_closed = 1},
      {severity = "warning", total = 1, cleared = 1, cleared_not_closed = 0,
        cleared_closed = 1, not_cleared_closed = 0, not_cleared_not_closed = 0},
    }, list:state().alarms.summary.alarm_summary)
  end)

  it("is purged of what fits all that is asked for", function ()
    local function purged(which)
      local list = made()
      list:raise(ARP, 10)        -- critical
      list:raise(FILTERED, 20)   -- a warning, cleared at 100
      list:clear(FILTERED, 100)
      list:set_operator_state(FILTERED, "ack", nil, 100)
      return list:purge(which, 160)
    end
    assert.equal(2, purged{})
    assert.equal(2, purged{alarm_status = "any"})
    assert.equal(1, purged{alarm_status = "cleared"})
    assert.equal(1, purged{alarm_status = "not-cleared"})
    assert.same({2, 1, 0}, {purged{older_than = "minutes:1"},
      purged{older_than = "seconds:61"}, purged{older_than = "weeks:1"}})
    assert.same({1, 1, 0, 2}, {purged{severity = "above:warning"},
      purged{severity = "is:warning"}, purged{severity = "below:warning"},
      purged{severity = "above:minor"}})
    assert.same({1, 0, 1, 0}, {purged{operator_state_filter = "ack"},
      purged{operator_state_filter = "closed"},
      purged{operator_state_filter = "ack:admin"},
      purged{operator_state_filter = ":nobody"}})
    assert.equal(0, purged{alarm_status = "cleared", severity = "is:critical"})
    for field, text in pairs{alarm_status = "x", older_than = "5", severity = "minor",
                             operator_state_filter = "open"} do
      assert.has_error(function () purged{[field] = text} end)
    end
  end)
end)
