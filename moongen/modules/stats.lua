-- SPDX-License-Identifier: Apache-2.0
local stats = require("moongen.measure.stats")
__LIBMOON_STATS_TASK = stats.task -- luacheck: ignore 111
return stats
