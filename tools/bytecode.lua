-- SPDX-License-Identifier: Apache-2.0
-- Compiles all modules of a tree into one file, which the host takes them from
-- (src/native/dpdk/bytecode.c): perigee run tools/bytecode.lua TREE FILE [ROOT]
--
-- The first lines are a title, LuaJIT's version, the tree's folder, and how many
-- modules there are; then follow a line for each, "PATH SIZE SECONDS LENGTH", sorted,
-- and their bytecode, with names and lines. ROOT is where the tree will be once it is
-- installed: nobody changes it until this is done.

local atomic_file = require("core.lib.atomic_file")
local dirent = require("posix.dirent")
local stat = require("posix.sys.stat")

local FOLDERS = {"src", "snabb", "click", "moongen"}
local FRESH = 2 -- seconds: what was changed just now may be changed again unseen

local tree, target, root = arg[1], arg[2], arg[3]

local function is_folder(found) return stat.S_ISDIR(found.st_mode) ~= 0 end

-- Add the modules below the folder, by their paths from the tree.
local function add(list, path)
  for _, entry in ipairs(dirent.dir(tree .. "/" .. path)) do
    local below = path .. "/" .. entry
    local found = stat.lstat(tree .. "/" .. below)
    if not entry:find("^%.") and found and is_folder(found) then
      add(list, below)
    elseif entry:find("%.lua$") and not entry:find("_spec%.lua$")
        and not below:find("[ \n]") then
      list[#list + 1] = {path = below, size = found.st_size, time = found.st_mtime}
    end
  end
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local list, lines, codes = {}, {}, {}
for _, folder in ipairs(FOLDERS) do
  if stat.stat(tree .. "/" .. folder) then add(list, folder) end
end
table.sort(list, function (a, b) return a.path < b.path end)
local newest = os.time() - FRESH
for _, m in ipairs(list) do
  local text = read(tree .. "/" .. m.path)
  local chunk = loadstring(text, ("@%s/%s"):format(root or tree, m.path))
  if chunk and #text == m.size and (root or m.time < newest) then
    codes[#codes + 1] = string.dump(chunk)
    lines[#lines + 1] = ("%s %d %d %d\n"):format(m.path, m.size, m.time,
      #codes[#codes])
  end
end
local output = atomic_file.open(target)
output:put(("perigee bytecode 1\n%s\n%s\n%d\n"):format(jit.version, root or tree,
  #codes))
output:put(table.concat(lines))
output:put(table.concat(codes))
output:finish()
