-- SPDX-License-Identifier: Apache-2.0
local files = require("moongen.packets.moonsniff_io")
require("core.declare")("native/moonsniff.h")
return files
