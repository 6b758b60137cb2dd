-- SPDX-License-Identifier: Apache-2.0
-- A configuration on several CPUs: copies of the whole router, each with a queue of
-- each device, or with the flows that come to it (program.click.steering).
--
-- A class of elements says in its field `division` what has to come to one copy
-- (core.cpus.dividable; "any" for what keeps nothing of one packet for others but
-- counts), and may have
--
--   divided(element, n)   why there can't be n copies of this one, a sentence; or nil,
--                         and its kind of division if that isn't the class's
--   readdresses           true: it changes what packets, or answers to them, are led by

local C = require("core.native")
local affinity = require("core.cpus.affinity")
local balanced = require("program.click.balanced")
local balancer = require("core.cpus.balancer")
local click = require("apps.click.click")
local config = require("core.config")
local control = require("program.click.control")
local control_sockets = require("program.click.control_sockets")
local dividable = require("core.cpus.dividable")
local division = require("click.threads.division")
local engine = require("core.app")
local failure = require("core.failure")
local joined = require("program.click.joined")
local placement = require("core.cpus.placement")
local steering = require("program.click.steering")
local workers = require("core.cpus.workers")

local copies = {}

--- The CPUs that the command line's options ask for, a list; nil: one thread will do.
function copies.wanted(o)
  local cpus = o.cpus or placement.wanted()
  if not cpus and (o.threads or 1) > 1 then
    cpus = {}
    local first = type(o.affinity) == "number" and o.affinity or 0
    local there = affinity.cpus()
    for i = 1, math.min(o.threads, #there - first) do cpus[i] = there[first + i] end
  end
  return cpus and #cpus > 1 and cpus or nil
end

local OWN_THREAD = {allow_reconfigure = "-R", simtime = "--simtime"}

local function asked_for(value)
  return value and (type(value) ~= "table" or next(value) ~= nil)
end

-- The element's kind of division; or nil and why there can't be `n` copies.
local function kind_of(e, n)
  local class = e.class
  local why, kind
  if not dividable.is(class) then why = dividable.why_not(class)
  elseif class.divided then why, kind = class.divided(e, n) end
  if why then return nil, why end
  return kind or class.division
end

local function called(e) return ("%s :: %s"):format(e.name, e.class.name) end

-- Does a packet come from the element `from`, whatever is between, to `to`?
local function leads(router, from, to, seen)
  seen = seen or {}
  for o = 1, from.noutputs or 0 do
    for _, far in ipairs(router:joined(from, true, o)) do
      local e = far.element
      if e == to then return true end
      if not seen[e] then
        seen[e] = true
        if leads(router, e, to, seen) then return true end
      end
    end
  end
  return false
end

-- An element that changes what packets of a flow are led by, before `who`, or answers.
local function changer(router, who, kind)
  for _, e in ipairs(router.elements) do
    if e.class.readdresses
      and (dividable.has_answers(kind) or leads(router, e, who)) then
      return e
    end
  end
end

-- Of the elements' kinds one that is enough for all; or nil and why there is none.
local function kind_of_all(router, list)
  local all, who = "any", nil
  for _, entry in ipairs(list) do
    local kind = entry.kind
    local changes = kind ~= "any" and changer(router, entry.element, kind)
    if changes then
      return nil, ("%s changes packets by which replies would be led to the CPU of "
        .. "their flow, which %s needs"):format(called(changes), entry.name)
    end
    local both = dividable.both(all, kind)
    if not both then
      return nil, ("%s and %s need packets divided differently"):format(who,
        entry.name)
    end
    if both ~= all then who = entry.name end
    all = both
  end
  return all
end

--- How the router's elements would be divided among `n` copies, a list of {name =,
--- element =, kind = or why =}.
function copies.division(router, n)
  local list = {}
  for i, e in ipairs(router.elements) do
    local kind, why = kind_of(e, n)
    list[i] = {name = called(e), element = e, kind = kind, why = why}
  end
  return list
end

--- Why there can't be `n` copies of the router (which isn't running), a sentence; or
--- nil and what has to come to one copy: "nothing", "flow", "within", "addresses".
--- `list`: its division, if that is known.
function copies.problem(router, o, n, list)
  for field, option in pairs(OWN_THREAD) do
    if asked_for(o[field]) then return ("%s needs one router"):format(option) end
  end
  list = list or copies.division(router, n)
  for _, entry in ipairs(list) do
    if entry.why then return ("%s: %s"):format(entry.name, entry.why) end
  end
  if router.is_open then return "a socket with LOCALHOST false needs one router" end
  local kind, why = kind_of_all(router, list)
  if why then return why end
  if not next(router.devices and router.devices.by_text or {}) then
    return "it receives from no device"
  end
  return nil, dividable.meets(kind)
end

local function app_of(i) return "click_" .. i end

local BESIDE, ASK_SECONDS = "click_0", 0.05

-- Is nothing on its way? And if so, what is wrong with a file, a failure.
local function all_rest(cpus)
  local sound, finished = pcall(engine.finished)
  if not sound and not failure.is(finished) then error(finished, 0) end
  if not finished then return false end
  for i, cpu in ipairs(cpus) do
    local states = workers.is_dead(cpu) and {}
      or workers.call(cpu, "apps.click.click", "progress", {app_of(i)})
    if states["passing on"] or states.starting then return false end
  end
  return true, not sound and finished or nil
end

-- Have the files come to their end, and is nothing on its way? To be called again and
-- again: what a copy held may leave it between the two looks of one call. Raises a
-- failure if one is damaged where it ends.
local function end_of_files(cpus)
  local before = false
  return function ()
    local over, damage = all_rest(cpus)
    local sure = over and before
    before = over
    if sure and damage then error(damage, 0) end
    return sure
  end
end

-- The same where scripts are beside the copies: they are told of stops and the files'
-- end, and say when it is over.
local function end_of_scripts(cpus)
  local next_time, told, at_end = 0, false, end_of_files(cpus)
  return function ()
    local n, now = 0, C.pg_now()
    if now >= next_time then
      next_time = now + ASK_SECONDS
      for i, cpu in ipairs(cpus) do
        n = n + workers.call(cpu, "apps.click.click", "take_stops", {app_of(i)})
      end
      if not told and at_end() then n, told = n + 1, true end
    end
    return click.stop(BESIDE, n)
  end
end

--- Say for `perigee plan` how the router is divided among copies on the CPUs of the
--- list: `why` there are none, or what has to come to one copy; `list` is of
--- copies.division. Why flows aren't balanced, if that was wanted, or nil.
function copies.explain(router, cpus, list, why, meets)
  local where = table.concat(cpus, ", ")
  local lines = {why and ("one copy of the router, not one on each of the CPUs %s: %s")
    :format(where, why)
    or ("a copy of the router on each of the CPUs %s; %s"):format(where,
      dividable.handing_out(meets))}
  for _, line in ipairs(dividable.lines(list)) do lines[#lines + 1] = line end
  local unbalanced, of_balance
  if balanced.wanted(router) then
    unbalanced = why or balanced.problem(list, meets,
      steering.devices(router, #cpus, meets))
    of_balance = balanced.explain(unbalanced)
    if unbalanced then balancer.want(0) end -- then others may divide packets
  end
  for _, line in ipairs(why and {} or steering.explain(router, cpus, meets)) do
    lines[#lines + 1] = line
  end
  lines[#lines + 1] = of_balance
  placement.tell(lines)
  return unbalanced
end

-- Of elements that run once, their names, a set; and which part of the router each
-- element is in: 0 beside the copies, 1 in each. Or nil: there are none.
local function set_apart(list)
  local whole, of = {}, {}
  for _, entry in ipairs(list) do
    local e = entry.element
    if entry.kind == "whole" then whole[e.name] = true end
    if not division.is_everywhere(e.class.name) then
      of[e.name] = entry.kind == "whole" and 0 or 1
    end
  end
  if next(whole) then return whole, of end
end

--- Start copies of the router's configuration `text` on the CPUs of the list: returns a
--- function that runs them until a signal comes, files end or scripts say so. `list` is
--- of copies.division, `meets` of copies.problem. The router itself, which is closed,
--- has their handlers then.
function copies.start(router, text, o, cpus, list, meets)
  local c = config.new()
  local shared = steering.devices(router, #cpus, meets)
  local whole, of = set_apart(list)
  local where = {cpus = cpus, app_of = app_of, whole = whole, beside = BESIDE}
  local more = control_sockets.elements(o)
  local function argument(fields)
    fields.text, fields.variables, fields.devices = text, o.variables, o.devices
    fields.more = more
    return fields
  end
  router:close()
  for i, cpu in ipairs(cpus) do
    config.app(c, app_of(i), click.Click, argument{
      copy = {number = i - 1, of = #cpus, shared = steering.numbers(shared),
        meets = meets, moves = balancer.wanted(),
        takers = balancer.wanted() and balancer.used(#cpus) or #cpus},
      thread = of and {number = 1, of = of}})
    config.cpu(c, app_of(i), cpu)
  end
  if whole then
    click.look_elsewhere(BESIDE, joined.finder(router, where), joined.of_whole(router))
    config.app(c, BESIDE, click.Click, argument{thread = {number = 0, of = of}})
  end
  control.serve(router, joined.seen(router, where))
  control.let_in()
  steering.wire(c, shared, cpus, app_of, meets)
  balanced.begin(cpus, app_of)
  placement.use(nil)
  engine.configure(c)
  return function ()
    engine.main{no_report = true,
      done = (whole and end_of_scripts or end_of_files)(cpus)}
    if whole and engine.interrupted then click.interrupt(BESIDE) end
    balanced.tell()
    joined.handlers(router, where)
  end
end

return copies
