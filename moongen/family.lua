-- SPDX-License-Identifier: Apache-2.0
-- The family of libmoon and MoonGen: their scripts, on Perigee's ports. What scripts
-- know by libmoon's names is in modules/, which is on the module path only in the Lua
-- states that run a script (moongen.script.state).

return {
  options = {
    {"--tree", value = "DIR",
      help = {"look behind Perigee's modules for what a checkout of",
              "MoonGen or libmoon has more (perigee moongen)"},
      take = function (dir) require("moongen.script.paths").add_tree(dir) end},
  },
}
