-- SPDX-License-Identifier: Apache-2.0
-- ICMPEcho: answers pings (RFC 792) to its addresses, 4 bytes each.

local echo = require("net.icmp.echo")
local icmp_echo = require("lib.icmp_echo")

return {ICMPEcho = icmp_echo("icmpv4", echo.request4, echo.turn4, 30, 4)}
