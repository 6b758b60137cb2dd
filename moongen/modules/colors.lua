-- SPDX-License-Identifier: Apache-2.0
local colors = require("moongen.colors")
for name, f in pairs(colors.globals) do _G[name] = f end
return colors
