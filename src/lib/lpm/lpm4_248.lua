-- SPDX-License-Identifier: Apache-2.0
-- Longest prefix matches of IPv4 addresses under the name, and with the settings, of
-- Snabb's lib.lpm.lpm4_248. Lookups are lib.lpm.lpm4_poptrie's, which take less memory.

local lpm4_trie = require("lib.lpm.lpm4_trie").LPM4_trie
local lpm4_poptrie = require("lib.lpm.lpm4_poptrie").LPM4_poptrie

local LPM4_248 = setmetatable({}, {__index = lpm4_poptrie})

--- A table; `config.keybits` is 15 (the default) or 31, the size of its keys.
function LPM4_248:new(config)
  local keybits = config and config.keybits or 15
  if keybits ~= 15 and keybits ~= 31 then
    error(("keybits can't be %s; LPM4_248 supports 15 or 31 keybits"):format(
      tostring(keybits)), 2)
  end
  local object = lpm4_trie.new(self)
  object.keybits = keybits
  return object:build()
end

return {LPM4_248 = LPM4_248}
