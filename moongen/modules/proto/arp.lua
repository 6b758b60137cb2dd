-- SPDX-License-Identifier: Apache-2.0
require("packet")
local task = require("moongen.packets.arp_task")
__MG_ARP_TASK = task.task -- luacheck: ignore 111
return task.arp
