-- SPDX-License-Identifier: Apache-2.0
-- The last packets of a measurement: how long those that are under way are waited for.
-- Only time in which this process ran counts: if it was stopped, or others had its CPU,
-- packets wait in its ports, and they are taken before the wait ends.

local engine = require("core.app")
local patience = require("core.lib.patience")

local quiet = {}

--- Looks are to be more frequent than this, in seconds: one follows each breath of an
--- engine that doesn't sleep.
quiet.LOOK_S = 1e-3

-- So long, in seconds, what waits in the ports when time is over is taken: others may
-- send for ever.
local MOST_MORE_S = 0.1

local Quiet = {}
Quiet.__index = Quiet

local function engine_now() return engine.now() end

local function new(seconds, restarts, now, look)
  now, look = now or engine_now, look or quiet.LOOK_S
  return setmetatable({seconds = seconds, restarts = restarts, passed = false,
    patience = patience.new(seconds, nil, now, nil, look),
    more = patience.new(MOST_MORE_S, nil, now, nil, look)}, Quiet)
end

--- Wait for `seconds`, and then, for 0.1 s at most, until a look finds nothing new.
--- `now()` is another clock than engine.now, and `look` the most between two looks.
function quiet.after(seconds, now, look) return new(seconds, false, now, look) end

--- Wait until nothing new has come for `seconds`.
function quiet.since_last(seconds, now, look) return new(seconds, true, now, look) end

--- Is the wait over? To be asked after each breath. `count`: anything that is another
--- number when something has come.
function Quiet:over(count)
  local came = count ~= self.count
  self.count = count
  if came and self.restarts then
    self.patience:renew(self.seconds)
    self.passed = false
  end
  local passed = self.passed
  self.passed = self.patience:over()
  if not passed then self.more:renew(MOST_MORE_S) end
  return passed and (not came or not self.restarts and self.more:over())
end

return quiet
