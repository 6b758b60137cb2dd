-- SPDX-License-Identifier: Apache-2.0
-- The rules of CTXDispatcher and FlowContextDispatcher: patterns in Classifier's terms,
-- and outputs.

local addresses = require("click.arguments.addresses")
local bytes = require("click.classification.bytes")
local run = require("click.classification.run")

local rules = {}

-- Patterns --------------------------------------------------------------------------

local PROTOCOLS = {icmp = 1, tcp = 6, udp = 17}
local ADDRESSES = {src = 12, dst = 16} -- offsets in an IP header
local PORTS = {src = 20, dst = 22}     -- and behind one without options

local function protocol(name)
  local number = PROTOCOLS[name:lower()] or tonumber(name)
  return number and number < 256 and ("9/%02x"):format(number) or nil
end

local function host(direction, text)
  local number = addresses.ip(text)
  return number and ("%d/%s"):format(ADDRESSES[direction], bit.tohex(number))
end

local function port(direction, text)
  local number = tonumber(text)
  return number and number < 65536 and ("%d/%04x"):format(PORTS[direction], number)
    or nil
end

-- What begins clauses of several words: {words behind it, function of them}.
local function phrase(words, i)
  local a, b = words[i]:lower(), (words[i + 1] or ""):lower()
  local value = words[i + 2] or ""
  if a == "ip" and b == "proto" then return protocol(value), 3 end
  if ADDRESSES[a] and b == "host" then return host(a, value), 3 end
  if ADDRESSES[a] and b == "port" then return port(a, value), 3 end
end

-- Have two numbers in hexadecimal no bit in common?
local function are_apart(a, b)
  a, b = a:reverse(), b:reverse()
  for i = 1, math.min(#a, #b) do
    if bit.band(tonumber(a:sub(i, i), 16), tonumber(b:sub(i, i), 16)) ~= 0 then
      return false
    end
  end
  return true
end

-- Clauses that only say by what flows are told apart: any value will do. ("10/0/ffff":
-- the value has none of the mask's bits.)
local function is_dynamic(word)
  local value, mask = word:match("^%d+/(%x+)/(%x+)$")
  return word == "agg" or word == "thread" or word:find("^%d+/%-?$")
    or word:find("^%d+/%-/%x*$") or value and are_apart(value, mask)
end

-- A word in Classifier's terms ("16/8ba5/ffff!" is "16/8ba5%ffff"), "" for none; or
-- nil.
local function clause(word)
  word = word:gsub("!$", ""):gsub(":HASH%-%d+$", ""):gsub(":ARRAY$", "")
  if is_dynamic(word:lower()) then return "" end
  local offset, value, mask = word:match("^(%d+)/(%x+)/?(%x*)$")
  if not offset then return nil end
  return offset .. "/" .. value .. (mask ~= "" and "%" .. mask or "")
end

-- The clauses of a rule as a Classifier's pattern; or nil. The second result: are some
-- dynamic?
local function pattern_of(text)
  if text == "-" then return "-", false end
  local words, parts, i, dynamic = {}, {}, 1, false
  for word in text:gsub("&&", " "):gmatch("%S+") do words[#words + 1] = word end
  while words[i] do
    local part, n = phrase(words, i)
    if not n then part, n = clause(words[i]), 1 end
    if not part then return nil end
    if part ~= "" then parts[#parts + 1] = part else dynamic = true end
    i = i + n
  end
  if #words == 0 then return nil end
  return #parts > 0 and table.concat(parts, " ") or "-", dynamic
end

local DROP = -1
rules.DROP = DROP

-- The rule's text, and the output behind it, if there is one.
local function split(text)
  local front, last = text:match("^(.-)%s+(%w+)$")
  if last and last:lower() == "drop" then return front, DROP end
  if last and last:find("^%d+$") and not front:find("%f[%w]port$")
    and not front:find("%f[%w]proto$") then
    return front:gsub("%s+keep$", ""), tonumber(last)
  end
  return (text:gsub("%s+keep$", ""))
end

--- The patterns of the element's rules, a list of text; the output of each, from 0 or
--- rules.DROP, as FastClick numbers those left out; and which have dynamic clauses. Nil
--- if there was an error.
function rules.read(self, list)
  local patterns, outputs, dynamic, last = {}, {}, {}, -1
  for i, text in ipairs(list) do
    local rule, output = split(text)
    patterns[i], dynamic[i] = pattern_of(rule)
    if not patterns[i] then
      self:error("argument %d is not a valid defined subflow (%s)", i, text)
      return nil
    end
    if not output then
      last = last + 1
      output = last < self.noutputs and last
        or patterns[i] == "-" and DROP or self.noutputs - 1
    else
      last = math.max(last, output)
    end
    outputs[i] = output
  end
  if patterns[#patterns] ~= "-" then
    patterns[#patterns + 1] = "-"
    outputs[#patterns] = last < self.noutputs - 1 and self.noutputs - 1 or DROP
  end
  return patterns, outputs, dynamic
end

--- Let the element's choose() send packets by these patterns; false after an error.
function rules.install(self, patterns, outputs)
  local fine = true
  local program, questions = bytes.program(patterns, {error = function (_, ...)
    fine = false
    self:error(...)
  end})
  if fine then
    self.rule_outputs = outputs
    self.choose, self.kept = run.process(program, questions, false)
  end
  return fine
end

--- process() of an element for which that was done.
function rules.process(self, p)
  local q, rule = self.choose(self, p)
  if q == nil then return nil, 1 end
  local output = self.rule_outputs[rule]
  if output < 0 or output >= self.noutputs then return nil, 1 end
  return p, output + 1
end

return rules
