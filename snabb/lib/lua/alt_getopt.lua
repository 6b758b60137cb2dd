-- SPDX-License-Identifier: Apache-2.0
-- getopt_long for Lua, under the name that Snabb has it by.

return require("core.lib.getopt")
