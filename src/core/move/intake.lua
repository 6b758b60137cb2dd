-- SPDX-License-Identifier: Apache-2.0
-- Holding back apps that bring packets in, for several reasons at a time: while links
-- are emptied, or a ring to another CPU is full. What isn't held back pays nothing for
-- it.

local intake = {}

local holds = setmetatable({}, {__mode = "k"}) -- by app: for how many reasons

local function nothing() end

local function tell(app, yes)
  if app.hold_back then
    app:hold_back(yes)
  elseif rawget(app, "pull") == nil or rawget(app, "pull") == nothing then
    app.pull = yes and nothing or nil
  end
end

--- Let the app bring in nothing, for one more reason. Its hold_back(true) is called, if
--- it has one; else its pull() isn't.
function intake.hold(app)
  holds[app] = (holds[app] or 0) + 1
  if holds[app] == 1 then tell(app, true) end
end

--- A reason is gone.
function intake.release(app)
  local n = holds[app]
  if not n then return end
  holds[app] = n > 1 and n - 1 or nil
  if n == 1 then tell(app, false) end
end

return intake
