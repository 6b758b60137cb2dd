-- SPDX-License-Identifier: Apache-2.0
-- A list of alarms, as ietf-alarms has it (draft-vallin-netmod-alarm-module-02, later
-- RFC 8632): which may be raised, which have been, when, and what operators say of
-- them. An alarm is identified by its `resource`, `alarm_type_id` and
-- `alarm_type_qualifier` (text; the last may be left out). Times are numbers, seconds
-- since 1970. Pure.

local failure = require("core.failure")
local tables = require("core.lib.tables")

local alarms = {}

-- Of an alarm that are kept (RFC 8632: max-alarm-status-changes).
local MOST_CHANGES = 32

local SEVERITIES = {indeterminate = 2, minor = 3, warning = 4, major = 5, critical = 6}
local OPERATOR_STATES = {none = true, ack = true, closed = true, shelved = true,
  ["un-shelved"] = true}
local AGES = {seconds = 1, minutes = 60, hours = 3600, days = 86400, weeks = 604800}

local Alarms = {}
Alarms.__index = Alarms

--- An empty list. `heard(what, alarm)`, if given, is called when an alarm is raised,
--- cleared or changes ("alarm-notification"), when an operator says something of one
--- ("operator-action"), and after declare() ("alarm-inventory-changed").
function alarms.new(heard)
  return setmetatable({types = {}, declared = {}, list = {}, shelf = {},
    heard = heard or function () end}, Alarms)
end

local function key_of(key)
  return ("%s\0%s\0%s"):format(key.resource, key.alarm_type_id,
    key.alarm_type_qualifier or "")
end

local function name_of(key)
  local qualifier = key.alarm_type_qualifier or ""
  return ("%s %s%s"):format(key.resource, key.alarm_type_id,
    qualifier ~= "" and "/" .. qualifier or "")
end

local function sorted(entries)
  local result = {}
  for i, key in ipairs(tables.sorted_keys(entries)) do result[i] = entries[key] end
  return result
end

local function keep(changes, change)
  changes[#changes + 1] = change
  if #changes > MOST_CHANGES then table.remove(changes, 1) end
end

-- From the resource -----------------------------------------------------------------

--- Say which alarms there may be from now on: a list of alarms with `description`,
--- `perceived_severity` and `alarm_text`. Those that are raised and not in it are
--- cleared.
function Alarms:declare(list, now)
  local types, declared = {}, {}
  for _, alarm in ipairs(list) do
    local id = alarm.alarm_type_id .. "\0" .. (alarm.alarm_type_qualifier or "")
    types[id] = types[id] or {alarm_type_id = alarm.alarm_type_id,
      alarm_type_qualifier = alarm.alarm_type_qualifier or "", has_clear = true,
      description = alarm.description, resource = {}}
    table.insert(types[id].resource, alarm.resource)
    declared[key_of(alarm)] = alarm
  end
  self.types, self.declared = types, declared
  for _, entries in ipairs{self.list, self.shelf} do
    for key, alarm in pairs(entries) do
      if not declared[key] then self:clear(alarm, now) end
    end
  end
  self.heard("alarm-inventory-changed")
end

local function change(self, alarm, is_cleared, now)
  alarm.is_cleared, alarm.last_changed = is_cleared, now
  keep(alarm.status_change, {time = now, alarm_text = alarm.alarm_text,
    perceived_severity = is_cleared and "cleared" or alarm.perceived_severity})
  local key = key_of(alarm)
  if self.shelf[key] then
    self.shelf_changed = now
  else
    self.last_changed = now
    self.heard("alarm-notification", alarm)
  end
end

--- Raise the alarm, one of those declared, unless it is raised already.
function Alarms:raise(which, now)
  local key = key_of(which)
  local alarm = self.list[key] or self.shelf[key]
  if alarm and not alarm.is_cleared then return end
  local declared = self.declared[key]
  if not alarm then
    alarm = {resource = declared.resource, alarm_type_id = declared.alarm_type_id,
      alarm_type_qualifier = declared.alarm_type_qualifier or "", time_created = now,
      status_change = {}, operator_state_change = {}}
    self.list[key] = alarm
  end
  alarm.perceived_severity = declared.perceived_severity
  alarm.alarm_text = declared.alarm_text
  change(self, alarm, false, now)
end

--- Clear the alarm, if it is raised.
function Alarms:clear(which, now)
  local key = key_of(which)
  local alarm = self.list[key] or self.shelf[key]
  if alarm and not alarm.is_cleared then change(self, alarm, true, now) end
end

-- From operators ----------------------------------------------------------------------

--- Say that an operator takes the alarm as `state`: "none", "ack", "closed", "shelved"
--- (it is put aside, and tells nobody of changes) or "un-shelved"; with a `text`.
function Alarms:set_operator_state(which, state, text, now)
  if not OPERATOR_STATES[state] then
    failure.usage("an operator's state is none, ack, closed, shelved or un-shelved, "
      .. "not '%s'", tostring(state))
  end
  local key, from = key_of(which), self.list
  if state == "un-shelved" then from = self.shelf end
  local alarm = from[key]
  if not alarm then
    failure.raise("there is no %salarm %s", from == self.shelf and "shelved " or "",
      name_of(which))
  end
  keep(alarm.operator_state_change,
    {time = now, operator = "admin", state = state, text = text or ""})
  if state == "shelved" or state == "un-shelved" then
    from[key] = nil
    local to = state == "shelved" and self.shelf or self.list
    to[key] = alarm
    self.last_changed, self.shelf_changed = now, now
  end
  self.heard("operator-action", alarm)
end

local function last_state(alarm)
  local changes = alarm.operator_state_change
  return changes[#changes] or {}
end

local STATUSES = {
  any = function () return true end,
  cleared = function (alarm) return alarm.is_cleared end,
  ["not-cleared"] = function (alarm) return not alarm.is_cleared end,
}

-- The fields that purge() takes, and what makes a filter of their texts.
local FILTERS = {}

function FILTERS.alarm_status(text)
  return STATUSES[text] or failure.usage("the status of alarms is any, cleared or "
    .. "not-cleared, not '%s'", text)
end

function FILTERS.older_than(text, now)
  local unit, n = text:match("^(%a+):(%d+)$")
  if not AGES[unit] then
    failure.usage("an age is seconds, minutes, hours, days or weeks and a number, "
      .. "such as minutes:5, not '%s'", text)
  end
  local latest = now - AGES[unit] * tonumber(n)
  return function (alarm) return alarm.last_changed <= latest end
end

function FILTERS.severity(text)
  local how, name = text:match("^(%a+):(%a+)$")
  local limit = SEVERITIES[name]
  local sign = how == "is" and 0 or how == "below" and -1 or how == "above" and 1
  if not (limit and sign) then
    failure.usage("a severity is is, below or above and indeterminate, minor, warning, "
      .. "major or critical, such as above:minor, not '%s'", text)
  end
  return function (alarm)
    local difference = SEVERITIES[alarm.perceived_severity] - limit
    return difference == 0 and sign == 0 or difference * sign > 0
  end
end

function FILTERS.operator_state_filter(text)
  local state, user = text:match("^([%a-]*):?(.*)$")
  if not state or state ~= "" and not OPERATOR_STATES[state] then
    failure.usage("an operator's state is none, ack, closed, shelved or un-shelved, "
      .. "and may have :USER behind it; not '%s'", text)
  end
  return function (alarm)
    local last = last_state(alarm)
    return (state == "" or last.state == state)
      and (user == "" or last.operator == user)
  end
end

--- Remove the alarms that fit all of `which`, texts: alarm_status ("any", "cleared",
--- "not-cleared"), older_than ("minutes:5", since the last change), severity
--- ("above:minor"), operator_state_filter ("closed", "ack:admin"). How many those are.
function Alarms:purge(which, now)
  local filters, n = {}, 0
  for field, make in pairs(FILTERS) do
    if which[field] then filters[#filters + 1] = make(which[field], now) end
  end
  for key, alarm in pairs(self.list) do
    local fits = true
    for _, filter in ipairs(filters) do fits = fits and filter(alarm) end
    if fits then
      self.list[key] = nil
      n = n + 1
    end
  end
  if n > 0 then self.last_changed = now end
  return n
end

--- Forget all but the last change of the alarms that have what `which` has of a
--- resource, alarm_type_id and alarm_type_qualifier. How many those are.
function Alarms:compress(which)
  local n = 0
  for _, alarm in pairs(self.list) do
    local fits = true
    for _, field in ipairs{"resource", "alarm_type_id", "alarm_type_qualifier"} do
      fits = fits and (which[field] == nil or which[field] == alarm[field])
    end
    if fits then
      alarm.status_change = {alarm.status_change[#alarm.status_change]}
      n = n + 1
    end
  end
  return n
end

-- All of it -------------------------------------------------------------------------

local function summary(list)
  local of = {}
  for _, alarm in pairs(list) do
    local severity = alarm.perceived_severity
    local sums = of[severity] or {severity = severity, total = 0, cleared = 0,
      cleared_not_closed = 0, cleared_closed = 0, not_cleared_closed = 0,
      not_cleared_not_closed = 0}
    local cleared = alarm.is_cleared and "cleared" or "not_cleared"
    local closed = last_state(alarm).state == "closed" and "_closed" or "_not_closed"
    sums.total = sums.total + 1
    if alarm.is_cleared then sums.cleared = sums.cleared + 1 end
    sums[cleared .. closed] = sums[cleared .. closed] + 1
    of[severity] = sums
  end
  return sorted(of)
end

--- What ietf-alarms has as state, as tables by its names (with underscores).
function Alarms:state()
  local list, shelf = sorted(self.list), sorted(self.shelf)
  return {alarms = {
    alarm_inventory = {alarm_type = sorted(self.types)},
    summary = {alarm_summary = summary(self.list)},
    alarm_list = {number_of_alarms = #list, last_changed = self.last_changed,
      alarm = list},
    shelved_alarms = {number_of_shelved_alarms = #shelf,
      alarm_shelf_last_changed = self.shelf_changed, shelved_alarm = shelf},
  }}
end

return alarms
