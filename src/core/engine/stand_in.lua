-- SPDX-License-Identifier: Apache-2.0
-- In the place of an app that has raised an error: passes packets by it, or drops them.
-- A per-packet app, so that what is around it stays fused.

local stand_in = {}

--- Drops what comes for the app `name`.
function stand_in.dropping(name)
  return {appname = name, input = {}, output = {}, outputs = {},
          drops = {"stopped for an error"},
          process = function () return nil, 1 end}
end

--- Sends what comes for the app `name` to its output `output`, and counts it.
function stand_in.bypassing(name, output)
  return {appname = name, input = {}, output = {}, outputs = {output}, passed = 0,
          process = function (self, p)
            self.passed = self.passed + 1
            return p
          end}
end

return stand_in
