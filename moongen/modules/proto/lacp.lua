-- SPDX-License-Identifier: Apache-2.0
require("packet")
local task = require("moongen.packets.lacp_task")
__MG_LACP_TASK = task.task -- luacheck: ignore 111
return task.lacp
