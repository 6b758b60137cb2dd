-- SPDX-License-Identifier: Apache-2.0
-- DPDKDevice: the Port app under the name and with the argument it has in
-- "Accelerating Snabb Programs" (a DPDK port number, or any port string).

local port = require("apps.port.port")

return {
  DPDKDevice = port.alias{
    name = "DPDKDevice",
    port = function (arg) return type(arg) == "table" and arg.port or arg end,
  },
}
