-- SPDX-License-Identifier: Apache-2.0
-- Where a script's modules come from: libmoon's names are Perigee's own, then come
-- trees (--tree), the folder of the script, and the folder it is run in.

local failure = require("core.failure")
local main = require("core.main")
local stat = require("posix.sys.stat")

local paths = {}

local trees = {}

-- Below a tree; a checkout of MoonGen has libmoon in it, that of 2015 lua/include.
local IN_TREE = {"lua/?.lua", "lua/?/init.lua", "lua/lib/?.lua", "lua/lib/?/init.lua",
  "libmoon/lua/?.lua", "libmoon/lua/?/init.lua", "libmoon/lua/lib/?.lua",
  "libmoon/lua/lib/?/init.lua", "lua/include/?.lua", "lua/include/lib/?/init.lua",
  "?.lua", "?/init.lua"}

--- Look for modules in the folder `dir`, too. A usage failure if there is none.
function paths.add_tree(dir)
  if not stat.stat(dir) then
    failure.usage("--tree %s: there is no such directory", dir)
  end
  trees[#trees + 1] = dir
end

--- The trees that were added, a list.
function paths.trees() return trees end

local function add_cpath(list, dir)
  list[#list + 1] = dir .. "/?.so"
end

--- Set the module path of this Lua state for the script at `script`.
function paths.use(script)
  local own = main.root .. "/moongen/modules"
  local list = {own .. "/?.lua", own .. "/lesser/?.lua", package.path}
  local c_list = {package.cpath}
  for _, dir in ipairs(trees) do
    for _, pattern in ipairs(IN_TREE) do list[#list + 1] = dir .. "/" .. pattern end
    add_cpath(c_list, dir)
  end
  local folder = script:match("^(.*)/[^/]+$")
  if folder then list[#list + 1] = folder .. "/?.lua" end
  if folder then add_cpath(c_list, folder) end
  list[#list + 1] = "./?.lua"
  list[#list + 1] = "" -- scripts append to the path without a separator (rfc2544)
  package.path = table.concat(list, ";")
  package.cpath = table.concat(c_list, ";")
end

--- Where libraries are looked for by ffi.load: patterns of paths, for
--- package.searchpath.
function paths.libraries()
  local list = {}
  for pattern in package.path:gmatch("[^;]+") do
    if not pattern:match("init%.lua$") then
      list[#list + 1] = pattern:gsub("%?%.lua$", "?")
    end
  end
  return table.concat(list, ";")
end

return paths
