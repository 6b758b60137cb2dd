-- SPDX-License-Identifier: Apache-2.0
-- Waiting, and doing things once in a while. While the engine runs, time here is
-- engine.now(), which stands still during a breath.

local posix_time = require("posix.time")
local clock = require("core.lib.clock")
local failure = require("core.lib.failure")

local loaded = package.loaded

local POLL_INTERVAL_US = 100

local wait = {}

local function now()
  local engine = loaded["core.app"]
  if type(engine) == "table" and engine.now then return (engine.now()) end
  return (clock.seconds())
end

local function sleep_us(us)
  posix_time.nanosleep({
    tv_sec = math.floor(us / 1e6), tv_nsec = math.floor(us % 1e6) * 1000,
  })
end

--- A function that returns true at most once in each `seconds`.
function wait.throttle(seconds)
  local deadline = now()
  return function()
    local time = now()
    if time <= deadline then return false end
    deadline = time + seconds
    return true
  end
end

--- A function that returns true once `seconds` have passed since this call.
function wait.timeout(seconds)
  local deadline = now() + seconds
  return function() return now() > deadline end
end

--- Return when `condition()` is true.
function wait.waitfor(condition)
  while not condition() do sleep_us(POLL_INTERVAL_US) end
end

--- Return when `condition()` is true; raise a failure that names `name` after
--- `attempts` calls of it, `interval` microseconds apart.
function wait.waitfor2(name, condition, attempts, interval)
  for _ = 1, attempts do
    if condition() then return end
    sleep_us(interval)
  end
  failure.raise("gave up waiting for %s after %d attempts", name, attempts)
end

return require("core.lib.arguments").guard(wait, "lib", {
  throttle = "number", timeout = "number", waitfor = "function",
  waitfor2 = "text, function, number, number",
})
