-- SPDX-License-Identifier: Apache-2.0
-- Tries mutants of texts that users write (text_subjects) in a child process: what is
-- wrong with one is to be told as one sentence, in no time. A mutant that crashes or
-- stops the child is told by its number.

local ffi = require("ffi")
local failure = require("core.failure")
local guard = require("testing.fuzz.guard")
local Mutants = require("testing.fuzz.text_mutants")
local Random = require("testing.fuzz.random")
local subjects = require("testing.fuzz.text_subjects")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait").wait

ffi.cdef [[
struct itimer { long interval_s, interval_us, value_s, value_us; };
int setitimer(int which, const struct itimer *new_value, struct itimer *old_value);
]]
local ITIMER_PROF, SIGPROF = 2, 27 -- CPU time: setitimer(2)

local driver = {}

local PATIENCE_S = 10 -- CPU time, for one mutant
local MOST_ERRORS = 5 -- then a run ends
local SHOWN_BYTES = 300
local AT, ERRORS = 0, 1 -- shared with the child: the mutant it is at, errors so far

local function say(number, options, text, problem)
  print(("mutant %d of seed %d: %s\n%q"):format(number, options.seed, problem,
    text:sub(1, SHOWN_BYTES)))
end

-- What is wrong with how the text was refused; nil: nothing.
local function fault_of(err, text)
  if not failure.is(err) or err.bug then
    local trace = debug.traceback(tostring(err), 2)
    return (trace:gsub("\n[^\n]*fuzz/text_driver.lua.*", ""))
  end
  local sentence = tostring(err)
  if err.status ~= 2 then return "exit status " .. tostring(err.status) end
  if sentence:find("\n", 1, true) and not text:find("\n", 1, true) then
    return "more than a line: " .. sentence
  end
end

-- Let SIGPROF end the process after so many seconds (0: never).
local function be_patient(seconds)
  ffi.C.setitimer(ITIMER_PROF, ffi.new("struct itimer", {value_s = seconds}), nil)
end

local function try_all(options, shared, subject, mutants)
  local taken, refused = 0, 0
  for number = options.first, options.first + options.count - 1 do
    shared[AT] = number
    be_patient(PATIENCE_S)
    local text = mutants:make(Random.new(options.seed, number))
    local problem
    local ok = xpcall(function () subject.try(text) end, function (err)
      problem = fault_of(err, text)
    end)
    if ok then taken = taken + 1 else refused = refused + 1 end
    if problem then
      shared[ERRORS] = shared[ERRORS] + 1
      say(number, options, text, problem)
    end
    if shared[ERRORS] >= MOST_ERRORS then break end
  end
  be_patient(0)
  io.write(("%s: seed %d: %d taken, %d refused\n"):format(options.subject, options.seed,
    taken, refused))
end

--- Try the mutants `first` to `first + count - 1` of `seed` on the `subject`, and print
--- what goes wrong. Returns true if nothing did.
function driver.run(options)
  io.flush()
  local subject = subjects[options.subject].start()
  local mutants = Mutants.new(subject.seeds, subject.pieces)
  local shared = guard.shared(2)
  local child = assert(unistd.fork())
  if child == 0 then
    local ok, err = xpcall(try_all, debug.traceback, options, shared, subject, mutants)
    if not ok then io.write(tostring(err), "\n") end
    io.flush()
    unistd._exit(ok and shared[ERRORS] == 0 and 0 or 1)
  end
  local _, how, status = wait(child)
  subject.stop()
  if how == "killed" then
    local text = mutants:make(Random.new(options.seed, shared[AT]))
    say(shared[AT], options, text, status == SIGPROF
      and ("no answer in %d s of CPU time"):format(PATIENCE_S)
      or ("it killed the process with signal %d"):format(status))
  end
  return how == "exited" and status == 0
end

return driver
