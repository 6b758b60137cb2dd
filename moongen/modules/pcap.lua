-- SPDX-License-Identifier: Apache-2.0
require("packet")
return require("moongen.packets.pcap")
