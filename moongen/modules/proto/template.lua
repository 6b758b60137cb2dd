-- SPDX-License-Identifier: Apache-2.0
initHeader = require("moongen.packets.template") -- luacheck: ignore 111
return true
