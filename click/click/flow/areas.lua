-- SPDX-License-Identifier: Apache-2.0
-- C's declarations of what elements keep of a flow manager's flows (flow_areas.h).

local declare = require("core.declare")

declare("native/flows.h") -- each needs the one before
declare("native/flow_manager.h")

return declare("native/flow_areas.h")
