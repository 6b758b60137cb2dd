-- SPDX-License-Identifier: Apache-2.0
-- For specs of what is said on io.stderr: it is kept, and not shown.

local stderr = {}

local real = io.stderr
local told

--- From now on keep what is written, or forget what has been.
function stderr.keep()
  told = {}
  io.stderr = { -- luacheck: ignore 122
    write = function (_, ...)
      for i = 1, select("#", ...) do told[#told + 1] = tostring((select(i, ...))) end
    end,
  }
end

--- What has been written since.
function stderr.told() return table.concat(told) end

--- Write to the terminal again.
function stderr.leave()
  io.stderr = real -- luacheck: ignore 122
end

return stderr
