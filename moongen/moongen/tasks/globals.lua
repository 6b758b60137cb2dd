-- SPDX-License-Identifier: Apache-2.0
-- Globals that libmoon's scripts find: small helpers for text, tables, time and
-- numbers. Those for addresses and packets are the packets' (moongen.packets).

local ffi = require("ffi")
local C = require("core.native")
local clock = require("core.lib.clock")

local globals = {}

local band, bor, lshift, rshift, arshift = bit.band, bit.bor, bit.lshift, bit.rshift,
  bit.arshift

-- Text ------------------------------------------------------------------------------

--- Print text.format(...).
function globals.printf(text, ...) return print(text:format(...)) end

--- Raise text:format(...) as an error of who calls.
function globals.errorf(text, ...) error(text:format(...), 2) end

function globals.trim(text) return text:match("^%s*(.-)%s*$") end

local function quoted(value)
  local text = tostring(value)
  if not text:find('[,\n\r"]') then return text end
  return '"' .. text:gsub('"', '""') .. '"'
end

--- The values as a line of CSV.
function globals.toCsv(...)
  local cells = {}
  for i = 1, select("#", ...) do cells[i] = quoted((select(i, ...))) end
  return table.concat(cells, ",")
end

function globals.printCsv(...) return print(globals.toCsv(...)) end

--- The parts of `text` between matches of `pattern`, a list.
function globals.strSplit(text, pattern)
  local parts, from = {}, 1
  local first, last = text:find(pattern, from)
  while first do
    if first > from or from > 1 then parts[#parts + 1] = text:sub(from, first - 1) end
    from = last + 1
    first, last = text:find(pattern, from)
  end
  if from <= #text then parts[#parts + 1] = text:sub(from) end
  return parts
end

-- Values and tables -------------------------------------------------------------------

function globals.mapVarArg(f, ...)
  local list, n = {...}, select("#", ...)
  for i = 1, n do list[i] = f(list[i]) end
  return unpack(list, 1, n)
end

function globals.map(list, f)
  for i, value in ipairs(list) do list[i] = f(value) end
  return list
end

function globals.tostringall(...) return globals.mapVarArg(tostring, ...) end
function globals.tonumberall(...) return globals.mapVarArg(tonumber, ...) end

--- The first table, with what the others have.
function globals.mergeTables(first, ...)
  first = first or {}
  for i = 1, select("#", ...) do
    for key, value in pairs((select(i, ...))) do first[key] = value end
  end
  return first
end

--- A new list of the items of both.
function globals.concatArrays(a, b)
  local list = {}
  for _, value in ipairs(a) do list[#list + 1] = value end
  for _, value in ipairs(b) do list[#list + 1] = value end
  return list
end

--- The whole numbers from `start` (default 1) to `most`, as values.
function globals.range(most, start)
  local list = {}
  for i = start or 1, most do list[#list + 1] = i end
  return unpack(list)
end

--- unpack, also of what has nils in it.
function globals.unpackAll(list) return unpack(list, 1, table.maxn(list)) end

function globals.deepCopy(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in next, value do copy[globals.deepCopy(key)] = globals.deepCopy(item) end
  return setmetatable(copy, globals.deepCopy(getmetatable(value)))
end

-- Numbers -------------------------------------------------------------------------------

--- The counter after `value`; 0 behind `most - 1`. Without a branch.
function globals.incAndWrap(value, most)
  return band(value + 1, arshift(value - most + 1, 31))
end

function globals.bswap16(n) return bor(rshift(band(n, 0xff00), 8), lshift(band(n, 0xff), 8)) end
globals.hton16, globals.ntoh16 = globals.bswap16, globals.bswap16
globals.bswap, globals.hton, globals.ntoh = bit.bswap, bit.bswap, bit.bswap

-- Time ------------------------------------------------------------------------------------

--- Seconds since 1970, with a fraction.
function globals.time() return tonumber(clock.unix_nanoseconds()) / 1e9 end
globals.wallTime = globals.time

--- Seconds and microseconds since 1970.
function globals.gettimeofday()
  local ns = clock.unix_nanoseconds()
  return tonumber(ns / 1000000000), tonumber(ns % 1000000000 / 1000)
end

--- Seconds of a clock that nobody sets.
function globals.getMonotonicTime() return C.pg_monotonic() end

--- The time of day (UTC) as hh:mm:ss.uuuuuu.
function globals.getTimeMicros()
  local now = globals.time()
  return ("%s%s"):format(os.date("!%H:%M:%S", now), ("%.6f"):format(now % 1):sub(2))
end

--- Microseconds from one struct timeval to another.
function globals.timevalSpan(later, earlier)
  return (later.tv_sec - earlier.tv_sec) * 1000000 + (later.tv_usec - earlier.tv_usec)
end

-- The machine -----------------------------------------------------------------------------

function globals.fileExists(path)
  local file = io.open(path, "r")
  if file then file:close() end
  return file ~= nil
end

--- The kernel's name and version: "Linux", 6, 1, 0.
function globals.getOS()
  local uname = require("posix.sys.utsname").uname()
  return uname.sysname, globals.tonumberall(uname.release:match("^(%d+)%.(%d+)%.?(%d*)"))
end

pcall(ffi.cdef, "const char *rte_strerror(int error);")

--- What an error number of DPDK's means.
function globals.strError(number)
  return ffi.string(ffi.C.rte_strerror(math.abs(number)))
end

--- Warn about an error number that isn't 0.
function globals.checkDpdkError(number, doing, level)
  if number ~= 0 then
    local log = require("moongen.log")
    log[level or "warn"](log, "Error %s: %s", doing, globals.strError(number))
  end
  return true
end

--- Call f(...) until it gives something, for up to `wait` microseconds.
function globals.waitForFunc(wait, f, ...)
  local libmoon = require("moongen.tasks.libmoon")
  wait = wait or 0
  repeat
    local result = f(...)
    if result then return result end
    libmoon.sleepMicrosIdle(math.min(10, math.max(wait, 0)))
    wait = wait - 10
  until wait < 0 or not libmoon.running()
  return nil
end

globals.voidPtrType = ffi.typeof("void *")

-- What LuaJIT's 5.2 mode has, and Debian's hasn't: ipairs() of buffers. --------------------

local plain_ipairs = ipairs

local function next_buffer(bufs, i)
  if i < bufs.size then return i + 1, bufs.array[i] end
end

function globals.ipairs(list)
  if type(list) == "cdata" then return next_buffer, list, 0 end
  local meta = getmetatable(list)
  if meta and type(meta) == "table" and rawget(meta, "__ipairs") then
    return meta.__ipairs(list)
  end
  return plain_ipairs(list)
end

--- Set them in this Lua state. What is there already stays, but for ipairs.
function globals.set()
  for name, value in pairs(globals) do
    if name ~= "set" and (rawget(_G, name) == nil or name == "ipairs") then
      rawset(_G, name, value)
    end
  end
end

return globals
