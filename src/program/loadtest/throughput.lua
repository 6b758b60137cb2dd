-- SPDX-License-Identifier: Apache-2.0
-- The throughput test of RFC 2544, section 26.1: the highest rate at which what is sent
-- comes back.

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
    return process.succeeds(options.exec), "the command said so", true
  end
  for _, s in ipairs(result.streams) do
    if not s.kept then return false, "the rate was not kept" end
    if s.tx == 0 then return false, "nothing was sent" end
    if s.failed > 0 then return false, "the port couldn't send" end
    if s.loss > options.loss then return false, "packets were lost" end
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

--- One rate after another for the streams `list`, with frames of `size` bytes or those
--- of files. `options`: max, precision, retries (program.loadtest.search), duration,
--- wait, pause, warm_up in seconds, loss = the share that may be lost, exec = a command
--- or nil. say(text) tells how it goes on. Returns {size, limit = bits a second on the
--- wire, streams = those of the last trial that passed, machine = did this machine set
--- the limit?, trials}.
function throughput.find(list, size, options, say)
  local t, trials = tester.new(list, size), {}
  local warm_up_rate = math.min(options.max, MOST_WARM_UP_RATE)
  say(("Warming up at %f Gb/s for %g seconds.\n"):format(warm_up_rate / 1e9,
    options.warm_up))
  t:trial(warm_up_rate, options.warm_up, options.wait)
  local best
  local function judge(result) return throughput.verdict(result, options) end
  local function note(result)
    trials[#trials + 1] = result
    say(report.text(result))
  end
  local limit = search.limit(options, function (rate)
    say(("Applying %f Gbps of load.\n"):format(rate / 1e9))
    local result = t:valid_trial(rate, options.duration, options.wait, judge,
      function (void)
        note(void)
        say(report.void(void))
        t:pause(options.pause)
      end)
    note(result)
    if result.passed then best = result end
    say(result.passed and "Success.\n" or ("Failed: %s.\n"):format(result.reason))
    t:pause(options.pause)
    return result.passed
  end)
  local machine = throughput.limited_by_machine(trials, limit)
  if machine then
    say(("The limit may be this machine's, which can't keep %g Gbps.\n")
      :format(machine / 1e9))
  end
  say(("%g Gbps\n"):format(limit / 1e9))
  return {size = size, limit = limit, streams = limit > 0 and best.streams or nil,
          machine = machine ~= nil, trials = trials}
end

return throughput
