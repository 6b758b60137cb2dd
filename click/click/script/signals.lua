-- SPDX-License-Identifier: Apache-2.0
-- Signals that scripts take. A script's wish holds for one signal: then it is called,
-- and has to ask again. A signal that nobody takes any more does what it did before.

local ffi = require("ffi")
local C = require("core.native")
local numbers = require("click.script.numbers")

local signals = {}

-- Linux, signal(7).
local NUMBERS = {HUP = 1, INT = 2, QUIT = 3, ABRT = 6, USR1 = 10, USR2 = 12, PIPE = 13,
  ALRM = 14, TERM = 15, TSTP = 20, IO = 29}
local MOST = 31
local ENGINES = {[1] = true, [2] = true, [15] = true} -- those that end engine.main

ffi.cdef [[
  void *perigee_click_signal(int number, void *handler) __asm__("signal");
  int perigee_click_kill(int process, int number) __asm__("kill");
]]

--- The number of the signal `name` ("INT" or "2"), or nil.
function signals.number(name) return NUMBERS[name] or numbers.small(name, 0, MOST) end

--- Send the signal to a process. Nil, or the number of an error (errno(3)).
function signals.send(process, number)
  if ffi.C.perigee_click_kill(process, number) ~= 0 then return ffi.errno() end
end

local takers = {} -- [number] = list of functions

--- Call f() once when signal `number` has come, from signals.poll().
function signals.take(number, f)
  if not takers[number] then
    takers[number] = {}
    C.pg_take_signal(number, true)
  end
  table.insert(takers[number], f)
end

-- Leave the signal alone again.
local function restore(number)
  takers[number] = nil
  C.pg_take_signal(number, false)
  if ENGINES[number] then
    C.pg_catch_signals()
    C.pg_release_signals()
  else
    ffi.C.perigee_click_signal(number, nil)
  end
end

--- Forget the function, which no signal has called yet.
function signals.forget(number, f)
  for i, taker in ipairs(takers[number] or {}) do
    if taker == f then table.remove(takers[number], i) end
  end
  if takers[number] and #takers[number] == 0 then restore(number) end
end

--- Does anybody take signals?
function signals.any() return next(takers) ~= nil end

local function deliver(number)
  local list = takers[number]
  if not list then -- it came when nobody took it any more: as if nobody ever had
    signals.send(require("posix.unistd").getpid(), number)
    return
  end
  takers[number] = {}
  for _, f in ipairs(list) do f() end
  if #takers[number] == 0 then restore(number) end
end

--- Call those who wait for the signals that came.
function signals.poll()
  local number = C.pg_taken_signal()
  while number ~= 0 do
    deliver(number)
    number = C.pg_taken_signal()
  end
end

return signals
