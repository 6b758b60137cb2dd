-- SPDX-License-Identifier: Apache-2.0
local files = require("moongen.packets.moonsniff_io")
require("moongen.measure.moonsniff")
return files
