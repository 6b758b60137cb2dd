-- SPDX-License-Identifier: Apache-2.0
-- The running graph of this Lua state: its apps and links, the configuration they were
-- made of, what is fused, and the calls of a breath that follow from it all.

local C = require("core.native")
local jit_reset = require("core.engine.jit_reset")
local apply = require("core.engine.apply")
local watched = require("core.fuse.watched")
local config = require("core.config")
local cycles = require("core.watch.cycles")
local deep_stack = require("core.watch.deep_stack")
local drops = require("core.fuse.drops")
local errors = require("core.engine.errors")
local expand = require("core.engine.expand")
local direct_links = require("core.fuse.direct_links")
local failure = require("core.failure")
local fused_graph = require("core.fuse.fused")
local health = require("core.watch.health")
local link = require("core.link")
local meanwhile = require("core.lib.meanwhile")
local order = require("core.engine.order")
local plan = require("core.engine.plan")
local row = require("core.fuse.row")
local segments = require("core.fuse.segments")
local settings = require("core.engine.settings")
local transfer = require("core.move.transfer")
local waking = require("core.idle.waking")
local standby = require("core.outside.standby")
local wiring = require("core.engine.wiring")

local graph = {}

local state = {
  apps = {}, links = {}, configuration = config.new(), claims = {}, lost = 0,
  ready = {}, made = {},
}
local taps -- what is attached from outside (lib.control.taps), or nil
local known -- of the apps that are ready (plan.check)
local fused = fused_graph.none()
local calls_text = ""
local work = C.pg_at_work()

--- The running apps by name, and links by their text; always the same two tables.
graph.apps, graph.links = state.apps, state.links

--- The calls of a breath (core.engine.order): `pulls`, `pushes`, and `ticks`, the apps
--- with tick().
graph.calls = {
  pulls = {n = 0}, ticks = {before = 0},
  pushes = {n = 0, push = {}, app = {}, link = {}, before = 0},
}
local calls = graph.calls

link.before_reading(function (l) fused:settle(l) end)

--- The configuration that runs.
function graph.configuration() return state.configuration end

-- What a breath calls, in order.
local function lay_out()
  health.rearranged()
  calls.pulls, calls.pushes = order.breath(state.apps, state.links, fused)
  fused:hand_over(state.apps, state.links, calls.pushes.specs)
  direct_links.tell_shared(state.apps, state.links, settings.fuse and not taps)
  if taps then watched.wrap(calls.pushes, state.links, fused, taps) end
  calls.pushes.row = not taps and row.of(calls.pulls, calls.pushes, fused.entry_of)
  cycles.arrange(calls.pulls, calls.pushes, fused)
  calls.pushes.before = calls.pulls.n
  calls.ticks = {before = calls.pulls.n + calls.pushes.n}
  local ticking = {}
  for name, app in pairs(state.apps) do ticking[name] = app.tick and app or nil end
  for _, name in ipairs(config.sorted_keys(ticking)) do
    calls.ticks[#calls.ticks + 1] = ticking[name]
  end
  waking.arrange(state.apps, fused.region_with, fused:called_before(),
    calls.pushes.link)
  calls_text = order.text(graph.list_calls(), calls.ticks)
  C.pg_watch_calls(calls_text)
end

--- Work out what is fused and what a breath calls, for the apps and links there are.
function graph.arrange()
  fused = fused_graph.plan(state.apps, state.links, settings.fuse, fused,
    settings.lift and settings.lifter)
  errors.keep(state.apps)
  settings.regions, settings.not_fused = fused.regions, fused.reasons
  segments.unroll(fused.regions)
  fused:watch(taps)
  lay_out()
end

--- Let the taps (lib.control.taps) see what passes the graph from now on, or nobody, if
--- they are nil. To be called between breaths.
function graph.watch(new)
  taps = new
  jit_reset.tend() -- also code of taps that LuaJIT gave up in other graphs
  fused:watch(taps)
  lay_out()
end

--- What is known of the apps that run, and of those that are ready (plan.check).
function graph.known()
  local all = plan.known(state.configuration, state.claims)
  for name, of_app in pairs(known or {}) do all[name] = of_app end
  return all
end

--- Check the configuration `new`, and start those of its apps that are new and need
--- nothing of those that run, but for the names in the set `except`: to be followed by
--- graph.change, or graph.abandon. Those move: of these that run here and are stopped
--- for it (not "whole"), check that they could start again; what they hold where they
--- run is taken for those to come. Raises what is wrong, and then nothing has changed.
function graph.prepare(new, except)
  for name, app in pairs(state.configuration.apps) do
    if except[name] and except[name] ~= "whole" then plan.claim_of(name, app) end
  end
  new = expand.all(new)
  local unasked = graph.known()
  for name in pairs(except) do unasked[name] = new.apps[name] end
  local actions = plan.make(state.configuration, new, state.apps, nil, unasked)
  apply.prepare(state, new, actions, except)
  known = {}
  for name in pairs(state.ready) do
    local app = new.apps[name]
    known[name] = {class = app.class, arg = app.arg, claim = actions.claims[name]}
  end
end

--- Stop what graph.prepare has started.
function graph.abandon()
  apply.abandon(state)
  known = nil
end

-- While packets go on being moved: the apps and links that are new, and what follows
-- from those that there will be, as far as that is known before the exchange.
local function prepare_meanwhile(new, actions)
  apply.prepare(state, new, actions, standby.held_back(new))
  apply.make_links(state, new, actions)
  local apps, links, unknown = apply.future(state, new, actions)
  order.links(links, order.pulling(apps))
  fused_graph.prepare(apps, links, unknown, settings.fuse, fused,
    settings.lift and settings.lifter)
end

local gone = {} -- links that were freed, whose counters are still there (link.free)

--- Remove the counters of up to `most` (default: all) of the links that were freed
--- while packets waited.
function graph.clear_up(most)
  for _ = 1, math.min(most or #gone, #gone) do
    link.forget(unpack(table.remove(gone)))
  end
end

-- The exchange, in which packets wait.
local function exchange(new, actions, before)
  if before then before() end
  fused:account() -- the links' cursors, before anything looks at them
  local ok, err = pcall(apply.plan, state, new, actions)
  graph.abandon() -- what wasn't wanted after all
  jit_reset.tend(before ~= nil)
  graph.arrange() -- in any case: a failed change may have started apps again
  if ok and fused.problems[1] then ok, err = false, fused.problems[1] end
  if not ok then error(err, 0) end
end

-- The same without pauses for the garbage collector and for LuaJIT.
local function exchange_at_once(new, actions, before)
  local collecting, compiling = collectgarbage("isrunning"), jit.status()
  if collecting then collectgarbage("stop") end
  if compiling then jit.off() end
  state.later = gone
  local ok, err = pcall(exchange, new, actions, before)
  state.later = nil
  if compiling then jit.on() end
  if collecting then collectgarbage("restart") end
  if not ok then error(err, 0) end
end

--- Make the graph that of the configuration `new`; `forced` as for plan.make. Raises
--- what is wrong with it, or what an app raised. If there is something to go on with
--- (core.lib.meanwhile), it is called before the exchange; so is before(), last.
function graph.change(new, forced, before)
  graph.clear_up()
  new = expand.all(new)
  transfer.note_claims(state.claims)
  local actions = plan.make(state.configuration, new, state.apps, forced,
    transfer.add_known(graph.known(), new))
  if meanwhile.serving() then
    local ok, err = pcall(prepare_meanwhile, new, actions)
    if ok then
      standby.pass()
      ok, err = pcall(meanwhile.alone, exchange_at_once, new, actions, before)
    end
    fused_graph.forget()
    if not ok then
      graph.abandon()
      error(err, 0)
    end
  else
    exchange(new, actions, before)
  end
  if settings.log then io.write(plan.text(actions)) end
end

--- Put `app` in the place of the running app `name`, which has been stopped, and join
--- it to the links of that. What its link() raised, if anything; and a list of what
--- others raised as packets were moved out of links that are fused now
--- (core.fuse.unfused).
function graph.put(name, app)
  local problems = {}
  fused:account()
  drops.inherit(app, state.apps[name])
  state.apps[name] = app
  for _, spec in ipairs(config.sorted_keys(state.links)) do
    if wiring.touches(spec, name) then
      wiring.connect(state, spec, {[name] = true}, problems)
    end
  end
  graph.arrange()
  return problems[1] and table.concat(problems, "; "), fused.problems
end

--- Do packets that pass the link come to the taps as a burst (lib.control.taps)? Else
--- it is within a region, or leads from one straight to a port.
function graph.shows_burst(spec)
  return fused.run[spec] ~= nil or not fused.over[spec]
end

--- Bring the cursors of all links, also fused ones, and the apps' drops up to date.
function graph.account()
  fused:account()
end

--- The same, and publish them (core.shm).
function graph.publish()
  fused:account()
  drops.publish(state.apps)
  errors.publish()
  for _, l in pairs(state.links) do link.sync(l) end
end

--- Is a region better made anew (core.fuse.recompile)? Looked at now and then.
function graph.drifted(now, breaths) return fused:drifted(now, breaths) end

-- These run seldom: compiling them would only make packets wait.
jit.off(graph.publish)
jit.off(graph.drifted)

local at_hand

local function rescue(err, first, thread)
  if failure.is(err) and err.rescued then
    settings.failing = err.app
    return err
  end
  local explained
  explained, settings.failing, at_hand = fused:rescue(err, first, thread)
  return explained
end

--- The packets that the app was given that raised the last error: a list, which is
--- empty when asked again, or if they aren't known.
function graph.take_at_hand()
  local list = at_hand or {}
  at_hand = nil
  return list
end

--- For the handler of xpcall: `err`, with the app in front that raised it, if one did.
--- The burst it was at is put in order; settings.failing names the app.
graph.rescue = deep_stack.handler(rescue)

--- The same with a traceback, and after recursion without end as well.
graph.rescue_explained = deep_stack.handler(function (err, first, thread)
  local explained = failure.explain(rescue(err, first, thread), thread, 4)
  explained.app, explained.rescued = settings.failing, true
  return explained
end)

-- What comes of a stack that has no room: LuaJIT calls no handler if compiled code runs
-- out of it, and puts no place in front. Some LuaJITs call one where there is no room.
local OUT_OF_STACK = {["stack overflow"] = true, ["error in error handling"] = true}

--- What xpcall returned as the error: as the handler has made it. Where none could be
--- called, all that is known is which call of the breath it was, and maybe whose; the
--- packets of its burst stay with the apps.
function graph.name_call(err)
  if not OUT_OF_STACK[err] then return err end
  err = "stack overflow"
  local number = 0
  for text in calls_text:gmatch("[^\n]+") do
    number = number + 1
    if number == work.call then
      settings.failing = text:match("^app '([^']+)'")
      return ("%s: %s"):format(text, err)
    end
  end
  return err
end

--- The calls of a breath by name, in order (core.engine.order).
function graph.list_calls()
  return order.by_name(calls.pulls, calls.pushes, state.links, fused)
end

return graph
