-- SPDX-License-Identifier: Apache-2.0
-- The streams of a run: from the command line ("eth,ip4,udp;rate=1Mpps;udpDst=53"), or
-- from a script's list of tables. What a stream doesn't say, the options say for all.

local cli = require("lib.cli")
local failure = require("core.failure")
local fields = require("lib.traffic.fields")
local headers = require("lib.traffic.headers")
local spelling = require("core.lib.spelling")
local payload = require("lib.traffic.payload")
local rate = require("lib.traffic.rate")

local M = {}

--- The most streams each way.
M.MOST = 32

--- So many numbers (lib.traffic.maker's `stream`) there are each way: those of streams
--- that were removed aren't used again at once.
M.NUMBERS = 2 * M.MOST

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

local function latency(text)
  if text == "on" or text == "off" then return text end
  return nil, ("'%s' is neither on nor off"):format(text)
end

-- What a stream can have besides its stack and the fields set; converters.
local PARTS = {
  name = name, size = plain, rate = rate.parse, arrivals = arrivals, count = M.count,
  payload = payload.parse, latency = latency,
  flows = cli.integer(1), seed = cli.integer(0, 2^32), set = plain, stack = plain,
}
local NAMES = {"name", "size", "rate", "arrivals", "count", "payload", "latency",
  "flows", "seed", "set"}

-- Add to the table of a stream's parts, as texts.
local function put(given, key, value, where)
  if key == "set" then
    table.insert(given.set, value)
  elseif given[key] ~= nil then
    failure.usage("%s has two values of %s", where, key)
  else
    given[key] = value
  end
end

-- LABEL=VALUE, unless it is a part whose name is misspelt.
local function put_field(given, key, text, stack, where)
  if not fields.find(headers.parse(stack).shape, key) then
    local hint = spelling.hint(key, NAMES)
    if hint ~= "" then failure.usage("%s: there is no '%s'%s", where, key, hint) end
  end
  table.insert(given.set, text)
end

-- What problems call it: by its name, if it has one.
local function called(text)
  local given = (";" .. text .. ";"):match(";%s*name=([^;]-)%s*;")
  if given and name(given) then return "stream " .. given end
  return ("the stream '%s'"):format(text)
end

--- The parts of the stream that a text means, as texts, and what problems call it: the
--- stack (it may be left out), and what differs from the options, separated by
--- semicolons. `stack` is that of the options.
function M.read(text, stack)
  local given, where, first = {set = {}}, called(text), true
  for part in (text .. ";"):gmatch("%s*([^;]-)%s*;") do
    local key, value = part:match("^(%a%w*)=(.*)$")
    if key and PARTS[key] then
      put(given, key, value, where)
    elseif first and part ~= "" and (not key or part:find(",", 1, true)) then
      given.stack = part
    elseif key then
      put_field(given, key, part, given.stack or stack or STACK, where)
    elseif part ~= "" then
      failure.usage("%s: '%s' isn't of the form NAME=VALUE", where, part)
    end
    first = false
  end
  return given, where
end

local function convert(stream, key, value, where)
  local converted, problem = PARTS[key](tostring(value))
  if converted == nil then failure.usage("%s: %s: %s", where, key, problem) end
  stream[key] = converted
end

-- The keys of a table, those of NAMES first and in their order: so is what is wrong
-- told.
local function keys_of(given)
  local keys, known = {}, {}
  for _, key in ipairs(NAMES) do
    if given[key] ~= nil then keys[#keys + 1] = key end
    known[key] = true
  end
  for key in pairs(given) do
    if not known[key] then keys[#keys + 1] = key end
  end
  return keys
end

--- The stream of a table: the parts by name, as texts or numbers, `set` a list, and
--- `packet`, a function. Raises a sentence that begins with `where`, or the stream's
--- name.
function M.from_table(given, where)
  if type(given) ~= "table" then
    failure.usage("%s is a table of a stream's parts, not a %s", where, type(given))
  end
  local stream = {set = {}}
  if type(given.name) == "string" and name(given.name) then
    where = "stream " .. given.name
  end
  for _, key in ipairs(keys_of(given)) do
    local value = given[key]
    if key == "packet" and type(value) == "function" then
      stream.packet = value
    elseif key == "set" and type(value) == "table" then
      for i, text in ipairs(value) do stream.set[i] = tostring(text) end
    elseif key == "stack" and type(value) == "table" then
      stream.stack = value
    elseif key == "set" and type(value) == "string" then
      stream.set[1] = value
    elseif PARTS[key] and (type(value) == "string" or type(value) == "number") then
      convert(stream, key, value, where)
    else
      failure.usage("%s has no '%s' that is a %s; it has stack, packet (a function)"
        .. ", %s", where, tostring(key), type(value), table.concat(NAMES, ", "))
    end
  end
  return stream
end

--- The stream that a text means (read).
function M.parse(text, stack) return M.from_table(M.read(text, stack)) end

local DEFAULTS = {"stack", "size", "payload", "rate", "arrivals", "count", "flows",
                  "seed", "packet"}

-- What was resolved (program.generate.resolve), unless the stream sets it.
local function add_resolved(stream, list)
  local set = {}
  for _, text in ipairs(stream.set) do set[text:match("^%w*")] = true end
  for _, text in ipairs(list) do
    if not set[text:match("^%w*")] then table.insert(stream.set, text) end
  end
end

--- Complete the stream by what it doesn't say: the options say it for all. Fields set
--- for all come first. Raises a sentence if that doesn't fit together.
function M.complete(stream, options)
  for _, key in ipairs(DEFAULTS) do
    if stream[key] == nil then stream[key] = options[key] end
  end
  for i, text in ipairs(options.set) do table.insert(stream.set, i, text) end
  add_resolved(stream, options.resolved or {})
  if stream.arrivals and not stream.rate then
    failure.usage("%s--arrivals needs a --rate",
      stream.name and ("stream %s: "):format(stream.name) or "")
  end
end

-- What the options give of streams: parts by name, and what problems call each.
local function given_by(options)
  local list, names = {}, {}
  for i, text in ipairs(options.stream or {}) do
    list[i], names[i] = M.read(text, options.stack)
  end
  for i, given in ipairs(options.streams or {}) do
    list[#list + 1], names[#names + 1] = given, ("streams[%d]"):format(i)
  end
  if #list == 0 and not options.interactive then list[1] = {set = {}} end
  if #list > M.MOST then
    failure.usage("there are %d streams; %d are possible", #list, M.MOST)
  end
  return list, names
end

--- The streams of the options: a list, of one without a name if there are no streams;
--- and a list of what was given of each (from_table).
function M.list(options)
  local given, where = given_by(options)
  local list, taken = {}, {}
  for i, parts in ipairs(given) do list[i] = M.from_table(parts, where[i]) end
  for i, stream in ipairs(list) do
    if #list > 1 or stream.name or options.interactive then
      stream.name = stream.name or tostring(i)
    end
    if taken[stream.name or 0] then
      failure.usage("two streams are called '%s'", stream.name)
    end
    taken[stream.name or 0] = true
    M.complete(stream, options)
  end
  return list, given
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
