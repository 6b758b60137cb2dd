-- SPDX-License-Identifier: Apache-2.0
-- How far this machine's clock (CLOCK_REALTIME) may be from UTC, or from a PTP domain's
-- grandmaster, by who keeps it: ptp4l, where it runs (lib.traffic.ptp4l); chrony,
-- where `chronyc` answers; or the kernel (adjtimex(2)), which NTP's and PTP's programs
-- keep up to date. A bound, in seconds.

local ffi = require("ffi")
local failure = require("core.failure")
local C = require("core.native")
local log = require("core.lib.log")
local ptp4l = require("lib.traffic.ptp4l")

-- <linux/timex.h>; `modes` is 0: nothing is changed.
ffi.cdef [[
  struct perigee_timex {
    unsigned modes;
    long offset, freq, maxerror, esterror;
    int status;
    long constant, precision, tolerance, seconds, microseconds, tick;
    long ppsfreq, jitter;
    int shift;
    long stabil, jitcnt, calcnt, errcnt, stbcnt;
    int tai, unused[11];
  };
  int perigee_adjtimex(struct perigee_timex *t) __asm__("adjtimex");
]]

local clock_error = {}

local UNSYNCHRONISED = 0x40 -- STA_UNSYNC
local EVERY_S = 1           -- a look at the kernel's, or ptp4l's
local TOLERANCE = 500e-6    -- by which the kernel lets its bound grow
local FIELDS = 14           -- of `chronyc -c tracking`

--- The kernel's bound in seconds; nil: nobody keeps the clock.
function clock_error.of_kernel()
  local t = ffi.new("struct perigee_timex")
  if ffi.C.perigee_adjtimex(t) < 0 then return nil, true end
  if bit.band(t.status, UNSYNCHRONISED) ~= 0 then return nil end
  return tonumber(t.maxerror) / 1e6
end

--- chrony's bound by a line of `chronyc -c tracking`, and by how much it grows each
--- second: |system time| + root dispersion + root delay / 2 (chronyc(1), "tracking").
--- Nil: it says nothing, or isn't synchronised.
function clock_error.of_chrony(line)
  local fields = {}
  for field in ((line or "") .. ","):gmatch("([^,]*),") do
    fields[#fields + 1] = field
  end
  if #fields ~= FIELDS or fields[14] == "Not synchronised" then return nil end
  local n = {}
  for _, i in ipairs{5, 9, 10, 11, 12} do
    n[i] = tonumber(fields[i])
    if not n[i] then return nil end
  end
  return math.abs(n[5]) + n[12] + n[11] / 2, (math.abs(n[9]) + n[10]) / 1e6
end

local function ask_chrony()
  if C.pg_sandboxed() then return nil end
  local f = io.popen("chronyc -c -n tracking 2>/dev/null")
  local line = f and f:read("*l")
  if f then f:close() end
  return clock_error.of_chrony(line)
end

local ClockError = {}
ClockError.__index = ClockError

-- Once what ptp4l says can't be used there is no bound for the run, and a sentence why.
local function without_ptp4l(self, problem)
  if not self.lost then log.warning("no bound of the clock's error: %s", problem) end
  self.lost = true
end

-- ptp4l as `wanted`, or where it is by default; nil: there is none to be asked.
local function find_ptp4l(wanted)
  local place = wanted or {path = ptp4l.PATH, domain = 0}
  local found, problem = ptp4l.new(place.path, place.domain)
  if not found and wanted then failure.raise("--ptp: %s", problem) end
  return found
end

local function ask_ptp4l(self)
  local bound, problem, of_card = self.ptp4l:ask()
  if of_card and not self.wanted then
    self.ptp4l = nil -- phc2sys may tell chrony or the kernel
  elseif not bound then
    without_ptp4l(self, problem)
  elseif self.ptp4l.steps > 1 and not self.warned then
    self.warned = true
    log.warning("%d clocks are between ptp4l and the grandmaster, whose own errors it "
      .. "doesn't know", self.ptp4l.steps - 1)
  end
end

--- What is known from now on. `given`: a bound that the user knows; nil: ask. `wanted`:
--- the ptp4l that keeps the clock (lib.traffic.ptp4l.parse); nil: who does. Raises a
--- failure if that isn't there.
function clock_error.new(given, wanted)
  local self = setmetatable({given = given, wanted = wanted, looked = -math.huge},
    ClockError)
  self.ptp4l = not given and find_ptp4l(wanted) or nil
  self:ask()
  return self
end

--- Ask again ptp4l, or chrony, which takes some milliseconds.
function ClockError:ask()
  if self.given then return end
  self.looked = C.pg_now()
  if self.ptp4l then ask_ptp4l(self) end
  if self.ptp4l then return end
  local bound, growth = ask_chrony()
  if bound then self.chrony, self.growth, self.asked = bound, growth, C.pg_now() end
  self.looked = -math.huge
end

local function look_at_ptp4l(self, now)
  if self.lost or now - self.looked < EVERY_S then return self.ptp4l.bound end
  local bound, problem = self.ptp4l:look()
  if not bound then without_ptp4l(self, problem) end
  self.looked = now
  return bound
end

local function look(self, now)
  if now - self.looked < EVERY_S then return end
  local bound, refused = clock_error.of_kernel()
  if refused and self.kernel then -- in a sandbox
    self.kernel = self.kernel + TOLERANCE * (now - self.looked)
  elseif not refused then
    self.kernel = bound
  end
  self.looked = now
end

--- The bound now, in seconds, and who says so: "given", "ptp4l", "chrony" or "kernel";
--- nil and "nobody".
function ClockError:bound()
  if self.given then return self.given, "given" end
  local now = C.pg_now()
  if self.ptp4l then
    local bound = look_at_ptp4l(self, now)
    if self.lost then return nil, "nobody" end
    return bound, "ptp4l"
  elseif self.chrony then
    return self.chrony + self.growth * (now - self.asked), "chrony"
  end
  look(self, now)
  return self.kernel, self.kernel and "kernel" or "nobody"
end

return clock_error
