-- SPDX-License-Identifier: Apache-2.0
-- Time stamps that another machine reads: of the clock that NTP or PTP keeps
-- (CLOCK_REALTIME), with how far it may be wrong. In the record of a packet
-- (lib.traffic.probe) they take the place of ticks, of which none has the highest bit:
--
--   1 bit: 1 | 15 bits: error (5 exponent, 10 mantissa; ns) | 48 bits: ns since 1970
--
-- 48 bits of nanoseconds come again after 78 hours.

local bit = require("bit")
local ffi = require("ffi")
local clock = require("core.lib.clock")
local clock_error = require("lib.traffic.clock_error")
local quantity = require("lib.quantity")

local real_clock = {}

local band, bor, lshift, rshift = bit.band, bit.bor, bit.lshift, bit.rshift

local REAL = 0x8000000000000000ULL
local TIME = 0xffffffffffffULL
local TURN = 2^48
local UNKNOWN = 0x7fff
local MANTISSA = 1024
local uint64, int64 = ffi.typeof("uint64_t"), ffi.typeof("int64_t")

--- The code of an error in seconds (nil: unknown), rounded up.
function real_clock.encode(error)
  if not error then return UNKNOWN end
  local mantissa, exponent = math.ceil(error * 1e9), 0
  while mantissa >= MANTISSA do
    mantissa, exponent = math.ceil(mantissa / 2), exponent + 1
  end
  return exponent > 30 and UNKNOWN or exponent * MANTISSA + mantissa
end

--- And back; nil: unknown.
function real_clock.decode(code)
  if code == UNKNOWN then return nil end
  return code % MANTISSA * 2 ^ math.floor(code / MANTISSA) / 1e9
end

--- The code of the error of a stamp (uint64_t).
function real_clock.code_of(stamp) return tonumber(band(rshift(stamp, 48), UNKNOWN)) end

--- Is the stamp of a real clock, rather than ticks?
function real_clock.is_real(stamp) return ffi.cast(int64, stamp) < 0 end

--- Nanoseconds from the stamp to `now` (int64_t, ns since 1970); below 0: it is ahead.
function real_clock.since(stamp, now)
  local ns = tonumber(band(ffi.cast(uint64, now) - stamp, TIME))
  return ns < TURN / 2 and ns or ns - TURN
end

--- Converter of a command line: "tsc" (false), or "real", "real+1.5ms", "real-20us":
--- what is added to the clock, in seconds.
function real_clock.parse(text)
  if text == "tsc" then return false end
  if text == "real" then return 0 end
  local sign, amount = text:match("^real([+-])(.+)$")
  local seconds = amount and quantity.duration(amount)
  if seconds and seconds <= 86400 then return sign == "-" and -seconds or seconds end
  return nil, ("'%s' is no clock: tsc, real, or, with an offset that is known, "
    .. "real+1.5ms"):format(text)
end

local RealClock = {}
RealClock.__index = RealClock

--- The clock, with `offset` seconds added (0). `error`: how far it may be wrong then,
--- in seconds; nil: ask those who keep it, or the ptp4l at `ptp` (lib.traffic.ptp4l).
function real_clock.new(offset, error, ptp)
  return setmetatable({offset = ffi.cast(int64, (offset or 0) * 1e9),
    error = clock_error.new(error, ptp)}, RealClock)
end

--- Nanoseconds since 1970 (int64_t), read from the kernel each time: pg_real_ns() is
--- some microseconds off between processes.
function RealClock:now() return clock.unix_nanoseconds() + self.offset end

--- Its time as a stamp.
function RealClock:stamp()
  local code = real_clock.encode((self.error:bound()))
  return bor(REAL, lshift(ffi.cast(uint64, code), 48),
    band(ffi.cast(uint64, self:now()), TIME))
end

--- How far it may be wrong, in seconds, and who says so (lib.traffic.clock_error).
function RealClock:bound() return self.error:bound() end

return real_clock
