-- SPDX-License-Identifier: Apache-2.0
-- What a rewriter does with packets of no flow, by input: "drop", "nochange [OUTPUT]",
-- "keep FORWARD REPLY" (outputs), "pattern ... FORWARD REPLY", or the name of an
-- element that says it, a mapper.

local arguments = require("click.arguments")
local Pattern = require("click.rewriter.pattern")
local text_of = require("click.language.text")

local inputs = {}

local types = arguments.types

-- Take the outputs, the last two of the words. Returns them, or nil and what is wrong.
local function take_outputs(words)
  local forward = types.int(words[#words - 1] or "", {})
  local reply = types.int(words[#words] or "", {})
  words[#words], words[#words] = nil, nil
  if not forward then return nil, "bad forward port" end
  if not reply then return nil, "bad reply port" end
  return forward, reply
end

local function are_outputs(element, ...)
  for _, output in ipairs{...} do
    if output < 0 or output >= element.noutputs then return false end
  end
  return true
end

local RANGE = "output port out of range"

local function drop(words)
  if words[2] then
    return nil, ("syntax error, expected '%s'"):format(words[1])
  end
  return {kind = "drop"}
end

local function nochange(words, element)
  local output = words[2] and types.int(table.concat(words, " ", 2), {})
  if words[2] and not output then
    return nil, "syntax error, expected 'nochange [OUTPUT]'"
  end
  output = output or 0
  if not are_outputs(element, output) then return nil, RANGE end
  return {kind = "nochange", forward = output}
end

local function keep(words, element)
  table.remove(words, 1)
  if #words ~= 2 then return nil, "bad forward port" end
  local forward, reply = take_outputs(words)
  if not forward then return nil, reply end
  if not are_outputs(element, forward, reply) then return nil, RANGE end
  return {kind = "keep", forward = forward, reply = reply}
end

--- "1.0.0.1 1024-65535 - - 0 1", the words of a pattern and two outputs; nil and what
--- is wrong, if something is. Outputs aren't compared with those of an element.
function inputs.pattern(words, element)
  if #words <= 2 then return nil, "syntax error" end
  local last = {words[#words - 1], words[#words]}
  words[#words] = nil
  words[#words] = nil
  local pattern, problem = Pattern.parse(words, element)
  if not pattern then return nil, problem end
  local forward, reply = take_outputs(last)
  if not forward then return nil, reply end
  return {kind = "pattern", pattern = pattern, forward = forward, reply = reply}
end

local function with_pattern(words, element)
  table.remove(words, 1)
  local spec, problem = inputs.pattern(words, element)
  if not spec then return nil, problem end
  if not are_outputs(element, spec.forward, spec.reply) then return nil, RANGE end
  return spec
end

local function mapped(words, element)
  local mapper = element.router:find(words[1], element)
  if not mapper then return nil, "unknown specification" end
  if words[2] then return nil, "syntax error, expected element name" end
  if not mapper.map_flow then return nil, "element is not an IPMapper" end
  return {kind = "mapper", mapper = mapper}
end

local KINDS = {drop = drop, discard = drop, pass = nochange, passthrough = nochange,
               nochange = nochange, keep = keep, pattern = with_pattern,
               xpattern = with_pattern}

--- What the text of an input says: {kind =, forward =, reply = (outputs from 0),
--- pattern =, mapper =, failures = 0}; nil and what is wrong, if something is.
function inputs.parse(text, element)
  local words = text_of.words(text)
  if not words[1] then return nil, "empty argument" end
  local spec, problem = (KINDS[words[1]] or mapped)(words, element)
  if spec then spec.failures = 0 end
  return spec, problem
end

--- The patterns that new flows of the input may get, a list.
function inputs.patterns(spec)
  if spec.pattern then return {spec.pattern} end
  local list = {}
  for i, each in ipairs(spec.mapper and spec.mapper.specs or {}) do
    list[i] = each.pattern
  end
  return list
end

--- As the handlers show it, with the number of its flows.
function inputs.text(spec, count)
  local text = spec.pattern and spec.pattern:text() or ("<%s>"):format(spec.kind)
  return text .. (count > 0 and (" [%d]"):format(count) or "") .. "\n"
end

--- What becomes of a new flow with the key: the key that its packets get, and the
--- outputs forward and of replies; or nil, the output of the packet alone (from 0), if
--- it is not dropped, and whether no port or address was free. `thread` is that of the
--- packet.
function inputs.map(spec, key, flows, kind, thread)
  if spec.kind == "nochange" then return nil, spec.forward end
  if spec.kind == "drop" then return nil end
  if spec.kind == "keep" then return key, spec.forward, spec.reply end
  local new, forward, reply
  if spec.kind == "pattern" then
    new = spec.pattern:rewrite(key, flows, kind)
    forward, reply = spec.forward, spec.reply
  else
    new, forward, reply = spec.mapper:map_flow(key, flows, kind, thread)
  end
  if not new then
    spec.failures = spec.failures + 1
    return nil, nil, true
  end
  return new, forward, reply
end

return inputs
