-- SPDX-License-Identifier: Apache-2.0
-- ICMPEcho: answers pings (RFC 792) to its addresses, 4 bytes each.

local echo = require("net.icmp.echo")

return {ICMPEcho = require("apps.ip.echo")("icmpv4", echo.request4, echo.turn4, 30, 4)}
