-- SPDX-License-Identifier: Apache-2.0
-- Where Snabb has the kernel of lib.checksum, made for the CPU it runs on; here that is
-- in C.

return {checksum = require("lib.checksum").ipsum}
