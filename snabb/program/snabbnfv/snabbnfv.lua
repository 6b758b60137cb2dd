-- SPDX-License-Identifier: Apache-2.0
-- `perigee snabbnfv`: Snabb's name of `perigee nfv`.

local nfv = require("program.nfv.nfv")

return {summary = "Snabb's name of nfv", one_cpu = nfv.one_cpu, run = nfv.run}
