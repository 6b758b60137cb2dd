-- SPDX-License-Identifier: Apache-2.0
require("packet")
local task = require("moongen.packets.icmp_task")
__LM_ICMP_TASK = task.task -- luacheck: ignore 111
return task.icmp
