-- SPDX-License-Identifier: Apache-2.0
-- What the benchmarks share: numbers from the command line, timing by CPU time, and
-- Snabb's way to print a result.

local C = require("core.native")
local cli = require("lib.cli")
local failure = require("core.failure")
local results = require("core.engine.results")

local measure = {}

--- The argument `text` as a whole number from `least` (1) to `most` (any), such as 10e6
--- or 10M.
function measure.whole(text, what, least, most)
  local value = cli.count(text)
  if not value or value < (least or 1) then
    failure.usage("'%s' isn't a number of %s, such as 100, 10e6 or 10M", text, what)
  elseif most and value > most then
    failure.usage("'%s' is too many %s: give up to %d", text, what, most)
  end
  return value
end

--- The module `name`; a failure that says so if there is none.
function measure.need(name, what)
  local ok, module = pcall(require, name)
  if ok then return module end
  if type(module) == "string" and module:find("module '" .. name .. "' not found", 1,
    true) then
    failure.usage("%s needs the module %s, which is not in Perigee; `perigee --snabb "
      .. "DIR` takes it from a Snabb checkout", what, name)
  end
  error(module, 0)
end

--- Call work(iterations) on its own, print the time of an iteration, and return that in
--- nanoseconds of CPU time. `rest` is printed behind it.
function measure.time(work, iterations, what, rest)
  jit.flush()
  io.write(what, ": ")
  io.flush()
  local before = C.pg_cpu_seconds()
  local result = work(iterations)
  local ns = (C.pg_cpu_seconds() - before) * 1e9 / iterations
  io.write(("%.2f ns per iteration (result: %s)%s\n"):format(ns, tostring(result),
    rest and rest(ns) or ""))
  results.add(what, ns / 1e9)
  return ns
end

return measure
