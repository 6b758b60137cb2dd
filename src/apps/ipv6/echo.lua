-- SPDX-License-Identifier: Apache-2.0
-- ICMPEcho: answers pings (RFC 4443, section 4) to its addresses, 16 bytes each.

local echo = require("net.icmp.echo")
local icmp_echo = require("lib.icmp_echo")

return {ICMPEcho = icmp_echo("icmpv6", echo.request6, echo.turn6, 38, 16)}
