-- SPDX-License-Identifier: Apache-2.0
-- A process that is configured again and again compiles code for each graph, and LuaJIT
-- gives code up for good that it failed to compile a few times, as the graphs before
-- were: also code that all graphs share. So a change of the configuration lets LuaJIT
-- try again what was given up, and when there is much compiled code, throws it all
-- away. While packets pass, it keeps LuaJIT from taking long over the new graph's first
-- ones.

local C = require("core.native")
local health = require("core.watch.health")

local jit_reset = {}

--- How many traces there may be before a change of the configuration throws them away.
jit_reset.MOST_TRACES = 5000

-- A way out of a trace that LuaJIT couldn't compile so many times, one packet after the
-- other, it leaves to the interpreter for good; what comes after the first few may well
-- be compiled. Each try takes some 0.1 ms, so there are few right after an exchange.
local TRIES, FEW_TRIES, FEW_SECONDS = 32, 4, 1
local few_until = 0

local function try(times) jit.opt.start("tryside=" .. times) end

--- To be called now and then, with the time (C.pg_now()).
function jit_reset.look(now)
  if not few_until or now < few_until then return end
  few_until = nil
  try(TRIES)
end

--- Let LuaJIT try anew what it has given up; if there is much compiled code, throw that
--- away. To be called between breaths. `within`: compiled code may be waiting for this
--- to return. LuaJIT forgets that when a single trace goes, so none does.
function jit_reset.tend(within)
  if health.traces_alive >= jit_reset.MOST_TRACES then health.flush() end
  health.retry(within)
  if within then
    few_until = C.pg_now() + FEW_SECONDS
    try(FEW_TRIES)
  end
end

jit_reset.look(0)

return jit_reset
