-- SPDX-License-Identifier: Apache-2.0
-- TCP's flags (RFC 9293, section 3.1), as wire.h has them for C.

return {FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16}
