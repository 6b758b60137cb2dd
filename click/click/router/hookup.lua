-- SPDX-License-Identifier: Apache-2.0
-- How elements fit together: how many ports each has, which of them push and which
-- pull, and whether each is connected as it must be. What is wrong is said in Click's
-- words.
--
-- Elements have a class, a name and a landmark; connections are {from=, output=, to=,
-- input=}, elements by index from 1, ports from 0.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local ports = require("click.router.ports")

local hookup = {}

local KIND = {[false] = "input", [true] = "output"}
local ACTIVE_KIND = {[false] = "pull input", [true] = "push output"}

local function declaration(e) return ("%s :: %s"):format(e.name, e.class.name) end
hookup.declaration = declaration

local function code_of(e, field)
  local code = e.class[field]
  if type(code) == "function" then return code(e) end
  return code
end

local function port_error(errors, e, fmt, ...)
  errors:at(e.landmark):error(fmt, declaration(e), ...)
end

-- Port counts --------------------------------------------------------------

local function in_use(elements, connections)
  local inputs, outputs = {}, {}
  for i = 1, #elements do inputs[i], outputs[i] = 0, 0 end
  for _, c in ipairs(connections) do
    inputs[c.to] = math.max(inputs[c.to], c.input + 1)
    outputs[c.from] = math.max(outputs[c.from], c.output + 1)
  end
  return inputs, outputs
end

-- Each connection once, in order.
local function distinct(connections)
  local seen, list = {}, {}
  for _, c in ipairs(connections) do
    local key = ("%d %d %d %d"):format(c.from, c.output, c.to, c.input)
    if not seen[key] then list[#list + 1] = c end
    seen[key] = true
  end
  return list
end

--- Set ninputs and noutputs of all elements; the connections whose ports there are.
function hookup.count_ports(elements, connections, errors)
  connections = distinct(connections)
  local inputs, outputs = in_use(elements, connections)
  for i, e in ipairs(elements) do
    local nin, nout = ports.count(code_of(e, "ports"), inputs[i], outputs[i])
    if not nin then
      errors:error("%s: bad port count", e.name)
      nin, nout = 0, 0
    end
    e.ninputs, e.noutputs = nin, nout
  end
  local good = {}
  for _, c in ipairs(connections) do
    local from, to = elements[c.from], elements[c.to]
    local bad_input, bad_output = c.input >= to.ninputs, c.output >= from.noutputs
    if bad_input then port_error(errors, to, "'%s' has no input %d", c.input) end
    if bad_output then port_error(errors, from, "'%s' has no output %d", c.output) end
    if not (bad_input or bad_output) then good[#good + 1] = c end
  end
  return good
end

-- Push and pull ------------------------------------------------------------

-- A table for each element of the letters of its inputs and outputs.
local function letters_of(elements, errors)
  local inputs, outputs = {}, {}
  for i, e in ipairs(elements) do
    local code = code_of(e, "processing")
    local ins, outs = ports.processing(code, e.ninputs, e.noutputs)
    if not ins then
      errors:error("bad character in processing code '%s'", code)
      ins, outs = ("a"):rep(e.ninputs), ("a"):rep(e.noutputs)
    end
    inputs[i], outputs[i] = {}, {}
    for k = 1, #ins do inputs[i][k] = ins:sub(k, k) end
    for k = 1, #outs do outputs[i][k] = outs:sub(k, k) end
  end
  return inputs, outputs
end

-- Agnostic ports of an element of which one leads to the other are as if connected.
local function add_flows(e, i, inputs, outputs, edges)
  local flow = code_of(e, "flow")
  for k = 1, #inputs[i] do
    for j = 1, #outputs[i] do
      if inputs[i][k] == "a" and outputs[i][j] == "a" and ports.flows(flow, k, j) then
        table.insert(edges, {from = i, output = j - 1, to = i, input = k - 1,
                             within = true})
      end
    end
  end
end

local WORD = {h = "push", l = "pull"}

local function mismatch(errors, elements, c, output)
  local from, to = declaration(elements[c.from]), declaration(elements[c.to])
  local out, into = WORD[output], WORD[output == "h" and "l" or "h"]
  if c.within then
    errors:error("agnostic '%s' in mixed context: %s input %d, %s output %d", from,
      into, c.input, out, c.output)
  else
    errors:error("'%s' %s output %d connected to '%s' %s input %d", from, out, c.output,
      to, into, c.input)
  end
end

-- One pass over the edges; whether any port has been settled.
local function spread(edges, elements, inputs, outputs, errors)
  local changed = false
  for _, c in ipairs(edges) do
    local out, into = outputs[c.from][c.output + 1], inputs[c.to][c.input + 1]
    local settled = c.bad or out == into
    if not settled and into == "a" then
      inputs[c.to][c.input + 1], changed = out, true
    elseif not settled and out == "a" then
      outputs[c.from][c.output + 1], changed = into, true
    elseif not settled then
      mismatch(errors, elements, c, out)
      c.bad = true
    end
  end
  return changed
end

--- Settle which ports push and which pull: sets `processing` of all elements, {inputs =
--- "hl", outputs = "h"}, a letter for each port (a: nothing says).
function hookup.settle(elements, connections, errors)
  local inputs, outputs = letters_of(elements, errors)
  local edges = {}
  for _, c in ipairs(connections) do
    table.insert(edges, {from = c.from, output = c.output, to = c.to, input = c.input})
  end
  for i, e in ipairs(elements) do add_flows(e, i, inputs, outputs, edges) end
  while spread(edges, elements, inputs, outputs, errors) do end
  for i, e in ipairs(elements) do
    e.processing = {inputs = table.concat(inputs[i]),
                    outputs = table.concat(outputs[i])}
  end
end

-- Completeness -------------------------------------------------------------

--- Does input `i` of the element pull (from 1)?
function hookup.is_pull_input(e, i) return e.processing.inputs:sub(i, i) == "l" end

--- Does output `o` push (from 1)? One that nothing says it of does.
function hookup.is_push_output(e, o) return e.processing.outputs:sub(o, o) ~= "l" end

local function is_active(e, is_output, port)
  if is_output then return hookup.is_push_output(e, port + 1) end
  return hookup.is_pull_input(e, port + 1)
end

-- How many connections each port of each element has.
local function uses_of(elements, connections, is_output)
  local uses = {}
  for i = 1, #elements do uses[i] = {} end
  for _, c in ipairs(connections) do
    local i, port = is_output and c.from or c.to, is_output and c.output or c.input
    uses[i][port] = (uses[i][port] or 0) + 1
  end
  return uses
end

--- Each port must be connected; what pushes, or pulls, exactly once.
function hookup.check_complete(elements, connections, errors)
  local uses = {}
  for _, is_output in ipairs{false, true} do
    uses[is_output] = uses_of(elements, connections, is_output)
    for i, e in ipairs(elements) do
      for port = 0, (is_output and e.noutputs or e.ninputs) - 1 do
        if is_active(e, is_output, port) then
          for _ = 2, uses[is_output][i][port] or 0 do
            port_error(errors, e, "illegal reuse of '%s' %s %d", ACTIVE_KIND[is_output],
              port)
          end
        end
      end
    end
  end
  for _, is_output in ipairs{false, true} do
    for i, e in ipairs(elements) do
      for port = 0, (is_output and e.noutputs or e.ninputs) - 1 do
        if not uses[is_output][i][port] then
          port_error(errors, e, "'%s' %s %d unused", KIND[is_output], port)
        end
      end
    end
  end
end

--- All of the above: the connections that are good, or nil if something is wrong.
function hookup.check(elements, connections, errors)
  local before = errors.count
  connections = hookup.count_ports(elements, connections, errors)
  if errors.count > before then return nil end
  hookup.settle(elements, connections, errors)
  if errors.count > before then return nil end
  hookup.check_complete(elements, connections, errors)
  return errors.count == before and connections or nil
end

return hookup
