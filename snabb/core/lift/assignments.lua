-- SPDX-License-Identifier: Apache-2.0
-- Which fields and variables a function assigns, by their names alone. Pure.

local syntax = require("core.lift.syntax")

local assignments = {}

--- Add the names of the fields that are assigned in the tree to the set; "*" for those
--- of self whose name isn't in the text, which may be any.
function assignments.add(tree, set)
  syntax.walk(tree, function (node)
    if node.tag ~= "Set" then return end
    for _, target in ipairs(node[1]) do
      if target.tag == "Index" and target[2].tag == "String" then
        set[target[2][1]] = true
      elseif target.tag == "Index" and target[1].tag == "Id" and target[1].implicit then
        set["*"] = true
      end
    end
  end)
end

--- The set of the names of variables that are assigned in the tree.
function assignments.of_variables(tree)
  local set = {}
  syntax.walk(tree, function (node)
    for _, target in ipairs(node.tag == "Set" and node[1] or {}) do
      if target.tag == "Id" then set[target[1]] = true end
    end
  end)
  return set
end

return assignments
