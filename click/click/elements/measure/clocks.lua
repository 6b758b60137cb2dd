-- SPDX-License-Identifier: Apache-2.0
-- TSCClock and JiffieClock: in FastClick they make reading the time cheap. Perigee's
-- engine reads the CPU's counter anyway, so there is nothing to install; their handlers
-- tell the time.

local C = require("core.native")
local element = require("click.element")

local TSCClock = element.define{
  name = "TSCClock", summary = "reads the time and the CPU's counter",
  division = "any",
  ports = "0-1/=", processing = "h/h",
  arguments = {
    {"VERBOSE", "argument", keyword = true}, {"INSTALL", "argument", keyword = true},
    {"NOWAIT", "argument", keyword = true}, {"BASE", "argument", keyword = true},
    {"SOURCE", "argument", keyword = true},
    {"CONVERT_STEADY", "argument", keyword = true},
    {"READY_CALL", "argument", keyword = true},
  },
  handlers = {
    now = {join = "first", read = function (self)
      return ("%.9f"):format(self.router:now())
    end},
    now_steady = {join = "first", read = function (self)
      return ("%.9f"):format(self.router:steady())
    end},
    cycles = {join = "first", read = function ()
      return (tostring(C.pg_tsc()):gsub("%a+$", ""))
    end},
    cycles_hz = {join = "first", read = function ()
      return (tostring(C.pg_tsc_hz()):gsub("%a+$", ""))
    end},
    phase = {join = "first", read = function () return "1" end},
  },
}

function TSCClock:configure(a) self.ready_call = a.READY_CALL end

--- Who waits for the clock to be steady waits no longer.
function TSCClock:initialize()
  if not self.ready_call then return end
  local call, problem = self.router:writer(self.ready_call, self)
  if not call then return self:error("%s", problem) end
  self.router:timer(function () call() end):after(0)
end

function TSCClock:process(p) return p end -- luacheck: no self

local JIFFIES = 1000 -- a second

local JiffieClock = element.define{
  name = "JiffieClock", summary = "reads the time in milliseconds", ports = "0/0",
  division = "any",
  arguments = {{"VERBOSE", "argument"}, {"MINPRECISION", "argument"}},
  handlers = {
    jiffies = {join = "first", read = function (self)
      return ("%.0f"):format(math.floor(self.router:steady() * JIFFIES))
    end},
    status = {join = "first", read = function () return "1" end},
  },
}

return {TSCClock, JiffieClock}
