-- SPDX-License-Identifier: Apache-2.0
-- The streams of a run: from the command line ("eth,ip4,udp;rate=1Mpps;udpDst=53"), or
-- from a script's list of tables. What a stream doesn't say, the options say for all.

local cli = require("lib.cli")
local failure = require("core.failure")
local fields = require("lib.traffic.fields")
local headers = require("lib.traffic.headers")
local near = require("lib.stack.nearest")
local payload = require("lib.traffic.payload")
local rate = require("lib.traffic.rate")

local M = {}

--- The most streams each way.
M.MOST = 32

local STACK = "eth,ip4,udp"

local function arrivals(text)
  if text == "constant" or text == "poisson" then return text end
  return nil, ("'%s' is neither constant nor poisson"):format(text)
end

local function name(text)
  if text:match("^[%w_.-]+$") then return text end
  return nil, ("'%s' isn't a name of letters and digits"):format(text)
end

local function plain(text) return text end

--- Converter: how many packets, 1 or more.
function M.count(text)
  local value, problem = cli.count(text)
  if value == 0 then
    return nil, "0 packets would be nothing to do; without a count it goes on until the"
      .. " duration is over, or a signal comes"
  end
  return value, problem
end

-- What a stream can have besides its stack and the fields set; converters.
local PARTS = {
  name = name, size = plain, rate = rate.parse, arrivals = arrivals, count = M.count,
  payload = payload.parse,
  flows = cli.integer(1), seed = cli.integer(0, 2^32), set = plain, stack = plain,
}
local NAMES = {"name", "size", "rate", "arrivals", "count", "payload",
  "flows", "seed", "set"}

local function put(stream, key, value, where)
  if key == "set" then
    table.insert(stream.set, value)
    return
  elseif stream[key] ~= nil then
    failure.usage("%s has two values of %s", where, key)
  end
  local converted, problem = PARTS[key](value)
  if converted == nil then failure.usage("%s: %s: %s", where, key, problem) end
  stream[key] = converted
end

-- LABEL=VALUE, unless it is a part whose name is misspelt.
local function put_field(stream, key, text, stack, where)
  if not fields.find(headers.parse(stack).shape, key) then
    local hint = near.hint(key, NAMES)
    if hint ~= "" then failure.usage("%s: there is no '%s'%s", where, key, hint) end
  end
  table.insert(stream.set, text)
end

-- What problems call it: by its name, if it has one.
local function called(text)
  local given = (";" .. text .. ";"):match(";%s*name=([^;]-)%s*;")
  if given and name(given) then return "stream " .. given end
  return ("the stream '%s'"):format(text)
end

--- The stream that a text means: the stack (it may be left out), and what differs from
--- the options, separated by semicolons. `stack` is that of the options.
function M.parse(text, stack)
  local stream, where, first = {set = {}}, called(text), true
  for part in (text .. ";"):gmatch("%s*([^;]-)%s*;") do
    local key, value = part:match("^(%a%w*)=(.*)$")
    if key and PARTS[key] then
      put(stream, key, value, where)
    elseif first and part ~= "" and (not key or part:find(",", 1, true)) then
      stream.stack = part
    elseif key then
      put_field(stream, key, part, stream.stack or stack or STACK, where)
    elseif part ~= "" then
      failure.usage("%s: '%s' isn't of the form NAME=VALUE", where, part)
    end
    first = false
  end
  return stream
end

--- The same from a table of a script: the parts by name, `set` a list, and `packet`.
function M.from_table(given, where)
  if type(given) ~= "table" then
    failure.usage("%s is a table of a stream's parts, not a %s", where, type(given))
  end
  local stream = {set = {}}
  if type(given.name) == "string" and name(given.name) then
    where = "stream " .. given.name
  end
  for key, value in pairs(given) do
    if key == "packet" and type(value) == "function" then
      stream.packet = value
    elseif key == "set" and type(value) == "table" then
      for i, text in ipairs(value) do stream.set[i] = tostring(text) end
    elseif key == "stack" and type(value) == "table" then
      stream.stack = value
    elseif PARTS[key] and (type(value) == "string" or type(value) == "number") then
      put(stream, key, tostring(value), where)
    else
      failure.usage("%s has no '%s' that is a %s; it has stack, packet (a function)"
        .. ", %s", where, tostring(key), type(value), table.concat(NAMES, ", "))
    end
  end
  return stream
end

local DEFAULTS = {"stack", "size", "payload", "rate", "arrivals", "count", "flows",
                  "seed", "packet"}

-- What the stream doesn't say; fields set for all come first.
local function complete(stream, options)
  for _, key in ipairs(DEFAULTS) do
    if stream[key] == nil then stream[key] = options[key] end
  end
  for i, text in ipairs(options.set) do table.insert(stream.set, i, text) end
end

--- The streams of the options: a list, of one without a name if there are no streams.
function M.list(options)
  local list, taken = {}, {}
  for _, text in ipairs(options.stream or {}) do
    list[#list + 1] = M.parse(text, options.stack)
  end
  for i, given in ipairs(options.streams or {}) do
    list[#list + 1] = M.from_table(given, ("streams[%d]"):format(i))
  end
  if #list == 0 then list[1] = {set = {}} end
  if #list > M.MOST then
    failure.usage("there are %d streams; %d are possible", #list, M.MOST)
  end
  for i, stream in ipairs(list) do
    complete(stream, options)
    if #list > 1 or stream.name then stream.name = stream.name or tostring(i) end
    if taken[stream.name or 0] then
      failure.usage("two streams are called '%s'", stream.name)
    end
    taken[stream.name or 0] = true
  end
  return list
end

-- "ip4Src=10.0.0.1" there is "ip4Dst=10.0.0.1" on the way back.
local function exchanged(text)
  return (text:gsub("^(%a%w*)(%u%l+)=", function (label, part)
    local other = part == "Src" and "Dst" or part == "Dst" and "Src" or part
    return label .. other .. "="
  end))
end

--- The same streams for the other direction: sources and destinations that are set
--- change places.
function M.back(list)
  local back = {}
  for i, stream in ipairs(list) do
    back[i] = {set = {}}
    for key, value in pairs(stream) do
      if key ~= "set" then back[i][key] = value end
    end
    for k, text in ipairs(stream.set) do back[i].set[k] = exchanged(text) end
  end
  return back
end

return M
