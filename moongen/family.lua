-- SPDX-License-Identifier: Apache-2.0
-- The family of libmoon and MoonGen: their scripts, on Perigee's ports. What scripts
-- know by libmoon's names is in modules/, which is on the module path only in the Lua
-- states that run a script (moongen.script.state). Elsewhere it is what require() looks
-- for last: programs of Snabb's form may use libmoon's modules next to Snabb's.

local function find_last(name)
  local root = require("core.main").root .. "/moongen/modules"
  if not name:match("^[%w_.]+$") then return nil end
  local path = package.searchpath(name, root .. "/?.lua")
  if path then return assert(loadfile(path)) end
end

return {
  title = "Scripts of MoonGen's and libmoon's",
  globals = function () table.insert(package.loaders, find_last) end,
  options = {
    {"--tree", value = "DIR",
      help = {"look behind Perigee's modules for what a checkout of",
              "MoonGen or libmoon has more (perigee moongen)"},
      take = function (dir) require("moongen.script.paths").add_tree(dir) end},
  },
}
