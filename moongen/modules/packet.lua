-- SPDX-License-Identifier: Apache-2.0
require("utils")
local packet = require("moongen.packets.buffer")
packet.createStack, packet.packetCreate = createStack, packetCreate -- luacheck: ignore 113
return packet
