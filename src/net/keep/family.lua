-- SPDX-License-Identifier: Apache-2.0
-- What has copies on several CPUs: each has a file, which is called after the `family`,
-- the copy's CPU, and how many there are. When another number of copies starts, each
-- reads what all of the former ones had. Their files go once all new ones have begun.

local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local family = {}

--- The name of a copy's records: number `i` of `n`; of one: the family's name.
function family.member(of, i, n)
  return n and n > 1 and ("%s on CPU %d of %d"):format(of, i, n) or of
end

-- The files of the family in the folder, but those of as many copies. `file_of` makes
-- the name of a file of that of its records.
local function others(folder, item, file_of)
  local list, one = {}, file_of(item.family)
  local stem = file_of(item.family .. " on CPU ")
  local own = {}
  for i = 1, item.copies do
    own[file_of(family.member(item.family, i, item.copies))] = true
  end
  for _, file in ipairs(tree.names(folder)) do
    local rest = file:sub(1, #stem) == stem and file:sub(#stem + 1)
    local is_copy = rest and (rest:find("^%d+%%20of%%20%d+$") or rest:find("^%d+$"))
    if (file == one or is_copy) and not own[file] then
      list[#list + 1] = folder .. "/" .. file
    end
  end
  return list
end

--- The files of other numbers of copies, paths.
family.others = others

--- Remove them, if all copies that there are now have begun theirs.
function family.sweep(folder, item, file_of)
  if item.of ~= family.member(item.family, 1, item.copies) and item.copies == 1 then
    return -- it doesn't know how many there are
  end
  for i = 1, item.copies do
    local own = file_of(family.member(item.family, i, item.copies))
    if not tree.exists(folder .. "/" .. own) then return end
  end
  for _, path in ipairs(others(folder, item, file_of)) do unistd.unlink(path) end
end

return family
