-- SPDX-License-Identifier: Apache-2.0
-- For test_doctor_apps.py: graphs that between them hold every app of Perigee, from
-- the files of test/doctor. Arguments: a graph's name, and what it needs (files, ...).

package.path = main.root .. "/test/?.lua;" .. package.path

local graph = ...
for _, file in ipairs{"basic", "flow", "ip", "ports", "vtep"} do
  local graphs = require("doctor." .. file)
  if graphs[graph] then return graphs[graph](select(2, ...)) end
end
error(("there is no graph '%s'"):format(tostring(graph)))
