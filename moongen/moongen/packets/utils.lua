-- SPDX-License-Identifier: Apache-2.0
-- libmoon's general functions, which scripts know as globals: bytes, addresses,
-- checksums, texts and tables. Those of time are in moongen.packets.utils_of_time.

local bit = require("bit")
local ffi = require("ffi")
local address = require("lib.stack.address")
local dump = require("moongen.packets.dump")
local stack = require("moongen.packets.stack")
require("core.declare")("net/checksum/checksum.h")

local utils = {}

local band, bor, bswap = bit.band, bit.bor, bit.bswap
local arshift, lshift, rshift = bit.arshift, bit.lshift, bit.rshift

-- ---- bytes ----

--- The lower 16 bits of the number, with their bytes swapped.
function utils.bswap16(n)
  return bor(band(rshift(n, 8), 0xff), lshift(band(n, 0xff), 8))
end

utils.hton16, utils.ntoh16 = utils.bswap16, utils.bswap16
utils.bswap, utils.hton, utils.ntoh = bswap, bswap, bswap

--- val + 1, or 0 in place of `max`: a counter of 0 .. max-1 without a branch.
function utils.incAndWrap(val, max)
  return (band(val + 1, arshift(val - max + 1, 31)))
end

local MOST_SUMMED = 65535 -- bytes of a packet at most

--- The internet checksum (RFC 1071) of `len` bytes, as it lies in memory: setters of
--- headers take hton16() of it.
function utils.checksum(data, len)
  if (type(data) ~= "cdata" and type(data) ~= "string") or tonumber(data) then
    error("checksum takes a pointer and a number of bytes, not " .. tostring(data), 2)
  elseif type(len) ~= "number" or not (len >= 0 and len <= MOST_SUMMED) then
    error(("checksum takes a number of bytes from 0 to %d, not %s"):format(MOST_SUMMED,
      tostring(len)), 2)
  end
  local sum = ffi.C.pg_checksum(data, len, 0)
  return (bor(rshift(sum, 8), lshift(band(sum, 0xff), 8)))
end

--- Write `bytes` bytes at `data` in hex to `stream` (nil: standard output); `seps` are
--- the offsets at which colours change.
utils.dumpHex = dump.hex

utils.voidPtrType = ffi.typeof("void *")

-- ---- addresses ----

utils.ip4ToString = address.ip4ToString

--- A struct with the address, or (`number`) a number; nil if the text isn't one.
function utils.parseMacAddress(mac, number)
  return address.parseMacAddress(mac, number)
end

-- As text: programs also pass addresses, and nil.
local function of_text(parse)
  return function (ip)
    if ip == nil then return nil end
    return parse(tostring(ip))
  end
end

--- The address as a number (0 to 0xffffffff); nil if the text isn't one.
utils.parseIP4Address = of_text(address.parseIP4Address)
utils.parseIP6Address = of_text(address.parseIP6Address)

--- The address in the text, and whether it is an IPv4 one.
function utils.parseIPAddress(ip)
  return address.parseIPAddress(ip ~= nil and tostring(ip) or nil)
end

-- ---- stacks ----

utils.createStack = stack.create

--- The old name of createStack.
utils.packetCreate = stack.create

--- {proto =, name =, length =, subType =} of one of createStack's arguments.
utils.getHeaderData = stack.header_data

--- Print the names of the structs of all stacks that were made.
function utils.listPacketStructs()
  print("All available packet structs:")
  for _, name in ipairs(stack.names()) do print(name) end
end

--- A metatable for a header with these members (lines of C), with a getter and a setter
--- for each, and what a header has to have (proto.template).
function utils.initHeader(members)
  return require("moongen.packets.template")(members)
end

-- ---- text ----

--- Print the format with its values.
function utils.printf(format, ...)
  return print(format:format(...))
end

--- Raise the format with its values as an error.
function utils.errorf(format, ...)
  error(format:format(...), 2)
end

--- What `f` returns for each of the arguments.
function utils.mapVarArg(f, ...)
  local list, n = {...}, select("#", ...)
  for i = 1, n do list[i] = f(list[i]) end
  return unpack(list, 1, n)
end

function utils.tostringall(...) return utils.mapVarArg(tostring, ...) end
function utils.tonumberall(...) return utils.mapVarArg(tonumber, ...) end

--- The values as a line of CSV (RFC 4180).
function utils.toCsv(...)
  local values = {utils.tostringall(...)}
  for i, value in ipairs(values) do
    if value:find('[,"\r\n]') then values[i] = '"' .. value:gsub('"', '""') .. '"' end
  end
  return table.concat(values, ",")
end

function utils.printCsv(...) return print(utils.toCsv(...)) end

--- The text without spaces around it.
function utils.trim(text) return text:match("^%s*(.-)%s*$") end

--- The parts of the text between what matches the pattern; an empty first part is left
--- out.
function utils.strSplit(text, pattern)
  local parts, from = {}, 1
  while true do
    local first, last = text:find(pattern, from)
    if not first then break end
    if first > 1 then parts[#parts + 1] = text:sub(from, first - 1) end
    from = last + 1
  end
  if from <= #text then parts[#parts + 1] = text:sub(from) end
  return parts
end

-- ---- tables ----

--- Replace each element of the list by what `f` returns for it; the list.
function utils.map(list, f)
  for i, value in ipairs(list) do list[i] = f(value) end
  return list
end

--- The first table with what the others have.
function utils.mergeTables(first, ...)
  first = first or {}
  for i = 1, select("#", ...) do
    for key, value in pairs((select(i, ...))) do first[key] = value end
  end
  return first
end

--- A list of both lists' elements.
function utils.concatArrays(first, second)
  local list = {}
  for _, value in ipairs(first) do list[#list + 1] = value end
  for _, value in ipairs(second) do list[#list + 1] = value end
  return list
end

--- The numbers from `start` (1) to `max`.
function utils.range(max, start)
  local list = {}
  for i = start or 1, max do list[#list + 1] = i end
  return unpack(list)
end

--- All elements of a list that may have holes.
function utils.unpackAll(list) return unpack(list, 1, table.maxn(list)) end

--- A copy of the value, with copies of all tables in it.
function utils.deepCopy(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, member in next, value do
    copy[utils.deepCopy(key)] = utils.deepCopy(member)
  end
  return setmetatable(copy, utils.deepCopy(getmetatable(value)))
end

-- ---- the system ----

function utils.fileExists(name)
  local file = io.open(name, "r")
  if file then file:close() end
  return file ~= nil
end

--- The system's name, and the three numbers of its version.
function utils.getOS()
  local uname = require("posix.sys.utsname").uname()
  return uname.sysname, utils.tonumberall(uname.release:match("^(%d+)%.(%d+)%.?(%d*)"))
end

--- The sentence of an error number of C's or DPDK's.
function utils.strError(number)
  return (require("posix.errno").errno(math.abs(tonumber(number))))
end

--- Log the error number as a warning (or `level`), if it is one; true.
function utils.checkDpdkError(number, message, level)
  if number ~= 0 then
    local log = require("log")
    log[level or "warn"](log, "Error %s: %s", message, utils.strError(number))
  end
  return true
end

--- A size of a packet in bytes (without CRC), by chance: of 12, 7 are short, 4 middling
--- and 1 is long, as in the "simple IMIX".
function utils.imixSize()
  local chance = math.random(12)
  if chance == 1 then return 1518 end
  return chance <= 5 and 574 or 68
end

--- Call f(...) until it returns something, for `wait` microseconds at most (nil: once).
function utils.waitForFunc(wait, f, ...)
  local libmoon = require("libmoon")
  wait = wait or 0
  repeat
    local result = f(...)
    if result then return result end
    libmoon.sleepMicrosIdle(math.max(0, math.min(10, wait)))
    wait = wait - 10
  until wait < 0 or not libmoon.running()
  return nil
end

return utils
