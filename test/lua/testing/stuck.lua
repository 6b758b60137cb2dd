-- SPDX-License-Identifier: Apache-2.0
-- For specs: an app that raises an error in stop(), and that workers can load.

local Stuck = {}
Stuck.__index = Stuck

function Stuck:new() return setmetatable({}, self) end

function Stuck.stop() error("stuck") end

return {Stuck = Stuck}
