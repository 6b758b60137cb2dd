-- SPDX-License-Identifier: Apache-2.0
-- Runs the fuzzing in a child process, so that a read outside of a packet, which kills
-- it, can be told by the number of the mutant that did it.

local ffi = require("ffi")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait").wait

local guard = require("testing.fuzz.guard")
local Mutants = require("testing.fuzz.mutants")
local Random = require("testing.fuzz.random")
local seeds = require("testing.fuzz.seeds")
local Trial = require("testing.fuzz.trial")

local driver = {}

local RANDOM_STACKS = 150
local MOST_ERRORS = 5 -- then a run ends

-- Shared with the child: which mutant it is at (0: making the seeds), errors so far.
local AT, ERRORS = 0, 1

local function hex(bytes, length)
  return (ffi.string(bytes, math.min(length, 160)):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

-- An error with the calls that led to it from a mutant's trial on.
local function explain(err)
  return (debug.traceback(tostring(err), 2):gsub("\n[^\n]*fuzz/driver.lua.*", ""))
end

local function try_all(options, shared)
  local list = seeds.make(Random.new(options.seed, 0), RANDOM_STACKS)
  local mutants, trial = Mutants.new(list), Trial.new(list)
  local last = options.first + options.count - 1
  for number = options.first, last do
    shared[AT] = number
    local random = Random.new(options.seed, number)
    local seed = mutants:make(random)
    local ok, err = xpcall(function () trial:run(mutants, random, seed) end, explain)
    if not ok then
      shared[ERRORS] = shared[ERRORS] + 1
      io.write(("mutant %d of seed %d: %s\n%d bytes: %s\n"):format(number,
        options.seed, err, mutants.length,
        hex(mutants.bytes, mutants.length)))
      if shared[ERRORS] >= MOST_ERRORS then break end
    end
    if options.progress and number % 100000 == 0 then
      io.write(("%d of %d\n"):format(number, last))
      io.flush()
    end
  end
  io.write(trial:summary())
end

--- Try the mutants `first` to `first + count - 1` of `seed`; what goes wrong, and how
--- many ways the packets took, is printed. Returns true if nothing went wrong.
function driver.run(options)
  io.flush()
  local shared = guard.shared(2)
  local child = assert(unistd.fork())
  if child == 0 then
    local ok, err = xpcall(try_all, debug.traceback, options, shared)
    if not ok then io.write(tostring(err), "\n") end
    io.flush()
    unistd._exit(ok and shared[ERRORS] == 0 and 0 or 1)
  end
  local _, how, status = wait(child)
  if how == "killed" then
    print(("mutant %d of seed %d killed the process with signal %d")
      :format(shared[AT], options.seed, status))
  end
  return how == "exited" and status == 0
end

return driver
