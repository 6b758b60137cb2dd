-- SPDX-License-Identifier: Apache-2.0
local utils = {}
for _, module in ipairs{"moongen.tasks.globals", "moongen.packets.utils"} do
  for name, f in pairs(require(module)) do
    if name ~= "set" then utils[name], _G[name] = f, f end
  end
end
return utils
