-- SPDX-License-Identifier: Apache-2.0
-- The throughput test of RFC 2544, section 26.1: the highest rate at which what is sent
-- comes back.

local doubt = require("program.loadtest.doubt")
local failure = require("core.failure")
local process = require("core.lib.process")
local report = require("program.loadtest.report")
local search = require("program.loadtest.search")
local tester = require("program.loadtest.tester")

local throughput = {}

local MOST_WARM_UP_RATE = 1e9

--- Has the trial with this result passed? And if not, why; true behind that if it is so
--- whether or not this machine was late.
function throughput.verdict(result, options)
  if options.exec then
    local passed, status = process.succeeds(options.exec)
    if status == process.NO_COMMAND or status == process.NOT_RUN then
      failure.raise("--exec: the shell can't run the command %s: it ends with %d",
        failure.shown(options.exec), status)
    end
    return passed, "the command said so", true
  end
  for _, s in ipairs(result.streams) do
    if s.tx == 0 then return false, "nothing was sent" end
    if s.failed > 0 then return false, "the port couldn't send" end
    if s.loss > options.loss then
      return false, "packets were lost", doubt.is_certain(result, s, options.loss)
    end
    if not s.kept then return false, "the rate was not kept" end
  end
  return true
end

--- The lowest rate above the limit that failed, if that was because this machine can't
--- keep it; nil if not. `trials` in the order in which they were made.
function throughput.limited_by_machine(trials, limit)
  local lowest
  for _, trial in ipairs(trials) do
    if trial.rate > limit and (not lowest or trial.rate <= lowest.rate) then
      lowest = trial
    end
  end
  return lowest and lowest.void and lowest.rate or nil
end

-- Trials until one counts; `best` and `trials` of `found` are kept up to date.
local function attempt(t, rate, found, options, say)
  local function note(result)
    found.trials[#found.trials + 1] = result
    say(report.text(result))
  end
  say(("Applying %f Gbps of load.\n"):format(rate / 1e9))
  local result = t:valid_trial(rate, options.duration, options.wait,
    function (trial) return throughput.verdict(trial, options) end,
    function (void)
      note(void)
      say(report.void(void))
      t:pause(options.pause)
    end)
  note(result)
  if result.passed and rate > (found.limit or 0) then
    found.limit, found.streams = rate, result.streams
  end
  say(result.passed and "Success.\n" or ("Failed: %s.\n"):format(result.reason))
  t:pause(options.pause)
  return result.passed
end

-- The sentences at the end; `reason` and `machine` of `found` follow from its trials.
local function conclude(found, limit, say)
  local machine = throughput.limited_by_machine(found.trials, limit or 0)
  found.machine, found.limit = machine ~= nil, limit
  if machine then
    for _, trial in ipairs(found.trials) do
      if trial.rate == machine and trial.void then found.reason = trial.reason end
    end
    say(("%g Gbps: %s.\n"):format(machine / 1e9, found.reason))
    if limit == 0 then
      found.limit = nil
      return say("No limit was found: no rate could be measured that passes.\n")
    end
    say("The limit may be this machine's.\n")
  end
end

--- One rate after another for the streams `list`, with frames of `size` bytes or those
--- of files. `options`: max, precision, retries (program.loadtest.search), duration,
--- wait, pause, warm_up in seconds, loss = the share that may be lost, burst
--- (program.loadtest.tester), exec = a command or nil. say(text) tells how it goes on.
--- Returns {size, limit = bits a second on the wire, nil if that couldn't be measured
--- here, streams = those of the best trial, machine = did this machine set the limit?,
--- reason = why, trials, stopped = why it ended early}; behind it the failure that
--- ended it early, if one did: then the limit is the highest rate that had passed.
function throughput.find(list, size, options, say)
  local t, found = tester.new(list, size, options.burst), {size = size, trials = {}}
  local warm_up_rate = math.min(options.max, MOST_WARM_UP_RATE)
  say(("Warming up at %f Gb/s for %g seconds.\n"):format(warm_up_rate / 1e9,
    options.warm_up))
  local whole, limit = pcall(function ()
    t:warm_up(warm_up_rate, options.warm_up, options.wait)
    return search.limit(options,
      function (rate) return attempt(t, rate, found, options, say) end)
  end)
  if not whole then
    found.stopped, found.machine = tostring(limit), false
    say(found.limit and ("Stopped. The limit is at least %g Gbps.\n"):format(
      found.limit / 1e9) or "Stopped. No rate has passed yet.\n")
    return found, limit
  end
  conclude(found, limit, say)
  if found.limit then say(("%g Gbps\n"):format(found.limit / 1e9)) end
  return found
end

return throughput
