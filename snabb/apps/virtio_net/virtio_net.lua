-- SPDX-License-Identifier: Apache-2.0
-- Snabb's VirtioNet: the Port app on a virtual machine's network card, by PCI address.

local alias = require("apps.port.port").alias

local M = {}

--- VirtioNet:new {pciaddr=}
M.VirtioNet = alias {name = "VirtioNet", needs = "pciaddr"}

--- The class under the name by which programs choose among driver modules.
M.driver = M.VirtioNet

return M
