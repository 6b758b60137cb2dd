-- SPDX-License-Identifier: Apache-2.0
-- Signals that a program takes itself (the option `on_signal` of engine.main), instead
-- of being ended by them: to read its configuration again, say.

local C = require("core.native")
local outside = require("core.outside.visitors")
local shm = require("core.shm")
local tree = require("core.shm.tree")

local signals = {}

local NUMBERS = {HUP = 1, USR1 = 10, USR2 = 12} -- Linux, signal(7)

--- Is `name` ("HUP", ...) that of a signal which a program can take?
function signals.known(name) return NUMBERS[name] ~= nil end

--- The file in the process's directory that is there if SIGHUP lets it read its
--- configuration again.
signals.NOTE = "reloads"

local noted = false

local function note()
  if noted then return end
  noted = true
  tree.tell(shm.path(signals.NOTE), "SIGHUP")
end

--- Take the signals of `handlers` (functions by name; nil: none) from now on; `take` =
--- false: leave them alone again. Those that can end a process do so once more when
--- pg_catch_signals() is called.
function signals.take(handlers, take)
  for name in pairs(handlers or {}) do C.pg_take_signal(NUMBERS[name], take) end
  if take and handlers and handlers.HUP then note() end
end

-- SIGHUP asks for the configuration to be read again.
local function call(name, handler)
  if name == "HUP" then outside.reload(false) end
  handler()
  if name == "HUP" then outside.reload(true) end
end

--- Call the handlers of the signals that came.
function signals.answer(handlers)
  local number = C.pg_taken_signal()
  while number ~= 0 do
    for name, handler in pairs(handlers) do
      if NUMBERS[name] == number then call(name, handler) end
    end
    number = C.pg_taken_signal()
  end
end

return signals
