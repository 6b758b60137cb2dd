-- SPDX-License-Identifier: Apache-2.0
-- Changing flat configurations: taking elements out, putting others in, and moving
-- connections. Elements are numbers, which stay meanwhile; ports count from 0.

local edit = {}

local Graph = {}
Graph.__index = Graph

--- The flat configuration (click.language), to be changed; that itself isn't.
function edit.new(flat)
  local self = setmetatable({flat = flat, elements = {}, connections = {}}, Graph)
  for i, e in ipairs(flat.elements) do self.elements[i] = e end
  for i, c in ipairs(flat.connections) do
    self.connections[i] = {from = c.from, output = c.output, to = c.to, input = c.input,
      landmark = c.landmark}
  end
  self.n = #flat.elements
  return self
end

--- The elements that there are, in order: for i, e in graph:each() do.
function Graph:each()
  local i = 0
  return function ()
    repeat i = i + 1 until self.elements[i] or i > self.n
    return self.elements[i] and i, self.elements[i]
  end
end

--- A new element; its number. Without a name it is called as Click would. It comes
--- last, or where an element was that has been taken out, number `at`.
function Graph:add(class, config, name, landmark, at)
  if not at then
    self.n = self.n + 1
    at = self.n
  end
  self.elements[at] = {name = name or ("%s@%d"):format(class, at),
    class = class, config = config or "", landmark = landmark or "<perigee>"}
  return at
end

--- Take the element out, and its connections.
function Graph:remove(i)
  self.elements[i] = nil
  self:drop(function (c) return c.from == i or c.to == i end)
end

--- Take the connections out for which doomed(c) is true.
function Graph:drop(doomed)
  local kept = {}
  for _, c in ipairs(self.connections) do
    if not doomed(c) then kept[#kept + 1] = c end
  end
  self.connections = kept
end

--- The connections from the element's output (nil: any), in order.
function Graph:from(i, output)
  local list = {}
  for _, c in ipairs(self.connections) do
    if c.from == i and (not output or c.output == output) then list[#list + 1] = c end
  end
  return list
end

--- The connections to the element's input (nil: any), in order.
function Graph:to(i, input)
  local list = {}
  for _, c in ipairs(self.connections) do
    if c.to == i and (not input or c.input == input) then list[#list + 1] = c end
  end
  return list
end

--- Connect them, unless they are.
function Graph:connect(from, output, to, input)
  for _, c in ipairs(self:from(from, output)) do
    if c.to == to and c.input == input then return end
  end
  table.insert(self.connections, {from = from, output = output, to = to, input = input,
    landmark = "<perigee>"})
end

--- How many inputs and outputs of the element are in use.
function Graph:ports(i)
  local inputs, outputs = 0, 0
  for _, c in ipairs(self:to(i)) do inputs = math.max(inputs, c.input + 1) end
  for _, c in ipairs(self:from(i)) do outputs = math.max(outputs, c.output + 1) end
  return inputs, outputs
end

--- Let what comes to the element's input go where its output leads, without it.
function Graph:bypass(i, input, output)
  local sources, targets = self:to(i, input), self:from(i, output)
  self:remove(i)
  for _, source in ipairs(sources) do
    for _, target in ipairs(targets) do
      self:connect(source.from, source.output, target.to, target.input)
    end
  end
end

--- The flat configuration that has come of it.
function Graph:result()
  local flat, place = {}, {}
  for key, value in pairs(self.flat) do flat[key] = value end
  flat.elements, flat.connections = {}, {}
  for i, e in self:each() do
    flat.elements[#flat.elements + 1] = e
    place[i] = #flat.elements
  end
  for k, c in ipairs(self.connections) do
    flat.connections[k] = {from = place[c.from], output = c.output, to = place[c.to],
      input = c.input, landmark = c.landmark}
  end
  return flat
end

return edit
