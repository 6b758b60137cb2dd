-- SPDX-License-Identifier: Apache-2.0
require("utils")
local packet = require("moongen.packets.buffer")
packet.createStack = require("moongen.packets.stack").create
packet.packetCreate = packet.createStack
return packet
