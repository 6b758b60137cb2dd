-- SPDX-License-Identifier: Apache-2.0
-- Is a number one of a few? Functions written for a list: LuaJIT makes comparisons with
-- constants of them, which cost about nothing where the answer is always the same.

local members = {}

local FEW = 12 -- more are looked up in a table

--- A function that says of a word (an integer of 32 bits, with sign) whether the list
--- has it.
function members.of(list)
  local set, distinct = {}, {}
  for _, word in ipairs(list) do
    if not set[word] then distinct[#distinct + 1] = word end
    set[word] = true
  end
  if #distinct > FEW then return function (word) return set[word] ~= nil end end
  local tests = {}
  for i, word in ipairs(distinct) do tests[i] = ("word == %d"):format(word) end
  return loadstring(("return function (word) return %s end"):format(
    #tests > 0 and table.concat(tests, " or ") or "false"))()
end

return members
