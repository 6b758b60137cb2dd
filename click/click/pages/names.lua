-- SPDX-License-Identifier: Apache-2.0
-- The names of a flat configuration's elements and classes, in the alphabet's order.

local names = {}

--- Has the element no name of its own?
function names.is_anonymous(e) return e.name:match("^(.*)@%d+$") == e.class end

--- A list of {name =, element = its number} and {name =, class = its name}, each class
--- once; capitals count no more than other letters.
function names.of(flat)
  local list, known = {}, {}
  for i, e in ipairs(flat.elements) do
    list[#list + 1] = {name = e.name, element = i}
    if not known[e.class] then
      known[e.class] = true
      list[#list + 1] = {name = e.class, class = e.class}
    end
  end
  table.sort(list, function (a, b)
    local x, y = a.name:lower(), b.name:lower()
    if x ~= y then return x < y end
    if a.name ~= b.name then return a.name < b.name end
    return (a.class or "") > (b.class or "")
  end)
  return list
end

return names
