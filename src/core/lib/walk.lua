-- SPDX-License-Identifier: Apache-2.0
-- What is in a folder of the user's and below it. Symbolic links are followed, also
-- where they lead in circles: each folder is looked at once.

local dirent = require("posix.dirent")
local stat = require("posix.sys.stat")

local walk = {}

-- What tells the folder at `path` from all others; nil if there is none.
local function identity(path)
  local found = stat.stat(path)
  if found and stat.S_ISDIR(found.st_mode) ~= 0 then
    return ("%d:%d"):format(found.st_dev, found.st_ino)
  end
end

-- The names in the folder, sorted; none if it can't be read.
local function names_in(folder)
  local listed, names = pcall(dirent.dir, folder)
  if not listed then return {} end
  table.sort(names)
  return names
end

--- Call visit(path, name) for all in `folder` that isn't a folder (`name` is the path
--- below it), then for all in its folders, and so on: what is nearest comes first. If
--- enters(name, depth) is given and false, the folder of that name isn't looked at;
--- `depth` is 1 for those in `folder`.
function walk.files(folder, visit, enters)
  local queue = {{path = folder, prefix = "", depth = 0}}
  local seen = {[identity(folder) or ""] = true}
  for _, place in ipairs(queue) do -- which grows
    for _, name in ipairs(names_in(place.path)) do
      local path = place.path .. "/" .. name
      local own = name ~= "." and name ~= ".." and identity(path)
      if own == nil then
        visit(path, place.prefix .. name)
      elseif own and not seen[own]
          and (not enters or enters(name, place.depth + 1)) then
        seen[own] = true
        queue[#queue + 1] = {path = path, prefix = place.prefix .. name .. "/",
          depth = place.depth + 1}
      end
    end
  end
end

return walk
