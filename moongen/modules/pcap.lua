-- SPDX-License-Identifier: Apache-2.0
require("packet")
local of_2016 = require("moongen.packets.pcap_of_2016")
pcapReader, pcapWriter = of_2016.reader, of_2016.writer -- luacheck: ignore 111
return require("moongen.packets.pcap")
