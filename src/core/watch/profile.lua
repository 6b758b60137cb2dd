-- SPDX-License-Identifier: Apache-2.0
-- What the CPU's time goes to, by app and fused region: compiled code, the
-- interpreter, C functions, collecting garbage, compiling. Starting it throws all
-- traces away and puts checks into new ones: for `perigee doctor`, not for runs.

local profile = require("jit.profile")
local running_app = require("core.watch.running_app")

local jit_profile = {}

local INTERVAL_MS = 1
local STATES = {N = "compiled", I = "interpreted", C = "c", G = "gc", J = "compiling"}

local total, rows

local function row(name)
  if not rows[name] then
    rows[name] = {samples = 0, compiled = 0, interpreted = 0, c = 0, gc = 0,
                  compiling = 0}
  end
  return rows[name]
end

local function name_of(where)
  if where.app then return "app '" .. where.app .. "'" end
  return where.region or where.packet_path and "the engine, in a breath"
    or "the engine, between breaths"
end

local function sample(thread, samples, state)
  local r, kind = row(name_of(running_app.of(thread))), STATES[state]
  r.samples, r[kind] = r.samples + samples, r[kind] + samples
  total = total + samples
end

--- Begin to take samples of CPU time.
function jit_profile.start()
  total, rows = 0, {}
  profile.start("fi" .. INTERVAL_MS, sample)
end

--- End; the number of samples, and a table from what ran ("app 'nic'", "region of
--- fwd1", ...) to {samples =, compiled =, interpreted =, c =, gc =, compiling =},
--- all numbers of samples.
function jit_profile.stop()
  profile.stop()
  return total, rows
end

return jit_profile
