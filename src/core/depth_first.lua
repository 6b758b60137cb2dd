-- SPDX-License-Identifier: Apache-2.0
-- Directed graphs: depth-first search, and what follows from it. Nodes are any values
-- but nil; `successors` is a table from each node to the list of those it leads to.
-- No recursion: chains may be thousands of nodes long. Pure.

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local meanwhile = require("core.lib.meanwhile")

local graph = {}

--- The items of a list, the last first.
function graph.reversed(list)
  local result = {}
  for i = #list, 1, -1 do result[#result + 1] = list[i] end
  return result
end
local reversed = graph.reversed

--- The nodes in the order in which depth-first search from the list `roots`, in turn,
--- is done with them (post-order); and the root each was found from.
function graph.depth_first(roots, successors)
  local finished, root_of = {}, {}
  for _, root in ipairs(roots) do
    meanwhile.step()
    local stack, child_of = {}, {}
    local function enter(node)
      if root_of[node] then return end
      root_of[node] = root
      stack[#stack + 1], child_of[#stack + 1] = node, 1
    end
    enter(root)
    while #stack > 0 do
      meanwhile.step()
      local top = #stack
      local child = successors[stack[top]][child_of[top]]
      child_of[top] = child_of[top] + 1
      if child then
        enter(child)
      else
        finished[#finished + 1] = stack[top]
        stack[top] = nil
      end
    end
  end
  return finished, root_of
end
local depth_first = graph.depth_first

--- The nodes in topological order, but for edges that close a loop, and the place of
--- each in it, {[NODE] = number}: an edge closes a loop if it doesn't lead to a later
--- place. The search begins at the list `nodes`, in turn.
function graph.sort(nodes, successors)
  local sorted, place = reversed((depth_first(nodes, successors))), {}
  for i, node in ipairs(sorted) do place[node] = i end
  return sorted, place
end

return graph
