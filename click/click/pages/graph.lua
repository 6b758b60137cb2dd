-- SPDX-License-Identifier: Apache-2.0
-- A flat configuration as a graph that other programs read, by GML or GraphML: a node
-- for each element, with its ports, and an edge for each connection.

local markup = require("lib.markup")
local names = require("click.pages.names")

local graph = {}

local LETTERS = {push = "h", pull = "l"}

local escape = markup.escape

-- "c :: Counter", or "Counter" if the element has no name of its own.
local function label(e)
  if names.is_anonymous(e) then return escape(e.class) end
  return escape(e.name .. " :: " .. e.class)
end

--- How many inputs and outputs each element has, by its number.
function graph.count_ports(flat)
  local inputs, outputs = {}, {}
  for i in ipairs(flat.elements) do inputs[i], outputs[i] = 0, 0 end
  for _, c in ipairs(flat.connections) do
    inputs[c.to] = math.max(inputs[c.to], c.input + 1)
    outputs[c.from] = math.max(outputs[c.from], c.output + 1)
  end
  return inputs, outputs
end

-- GML ------------------------------------------------------------------------------

-- Where port `i` (from 0) of `n` is on its side of the element, from -1 to 1: ports
-- share it evenly.
local function anchor(i, n) return (2 * i + 1 - n) / n end

--- The graph as GML. `flat` is as click.language reads it.
function graph.gml(flat)
  local inputs, outputs = graph.count_ports(flat)
  local lines = {'Creator "click-pretty"', "graph", "[ hierarchic 1", "  directed 1"}
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  for i, e in ipairs(flat.elements) do
    add('  node\n  [ id %d\n    label "%s"\n  ]', i - 1, label(e))
  end
  for _, c in ipairs(flat.connections) do
    add("  edge\n  [ source %d\n    target %d\n    edgeAnchor\n    [ xSource %f\n"
      .. "      xTarget %f\n      ySource 1\n      yTarget -1\n    ]\n  ]", c.from - 1,
      c.to - 1, anchor(c.output, outputs[c.from]), anchor(c.input, inputs[c.to]))
  end
  lines[#lines + 1] = "]\n"
  return table.concat(lines, "\n")
end

-- GraphML --------------------------------------------------------------------------

local HEAD = [[
<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="kn" for="node" attr.name="name" attr.type="string" />
<key id="kc" for="node" attr.name="class" attr.type="string" />
<key id="kp" for="port" attr.name="processing" attr.type="string">
  <default>a</default>
</key>
<graph id="G" edgedefault="directed">]]

--- The graph as GraphML. kind(element, is_output, port) says "push", "pull" or nil of a
--- port (the element by its number in flat, the port from 0).
function graph.graphml(flat, kind)
  local inputs, outputs = graph.count_ports(flat)
  local lines = {HEAD}
  local function add(format, ...) lines[#lines + 1] = format:format(...) end
  local function add_ports(i, is_output, n)
    for port = 0, n - 1 do
      add('    <port name="%s%d"> <data key="kp">%s</data> </port>',
        is_output and "o" or "i", port, LETTERS[kind(i, is_output, port)] or "a")
    end
  end
  for i, e in ipairs(flat.elements) do
    add('  <node id="n%d" parse.indegree="%d" parse.outdegree="%d">\n'
      .. '    <data key="kn">%s</data> <data key="kc">%s</data>', i - 1, inputs[i],
      outputs[i], escape(e.name), label(e))
    add_ports(i, false, inputs[i])
    add_ports(i, true, outputs[i])
    lines[#lines + 1] = "  </node>"
  end
  for i, c in ipairs(flat.connections) do
    add('  <edge id="e%d" source="n%d" target="n%d" sourceport="o%d"'
      .. ' targetport="i%d" />', i - 1, c.from - 1, c.to - 1, c.output, c.input)
  end
  lines[#lines + 1] = "</graph>\n</graphml>\n"
  return table.concat(lines, "\n")
end

return graph
