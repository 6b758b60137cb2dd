-- SPDX-License-Identifier: Apache-2.0
local utils = {}
for _, name in ipairs{"utils", "utils_of_time"} do
  for key, value in pairs(require("moongen.packets." .. name)) do
    utils[key], _G[key] = value, value
  end
end
return utils
