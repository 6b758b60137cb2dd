-- SPDX-License-Identifier: Apache-2.0
-- After an error in an app: names it in the error, and puts the burst that a region was
-- at in order, so that the packet path needs no protection. To be called by the handler
-- of xpcall.

local failure = require("core.failure")
local running_app = require("core.watch.running_app")

local rescue = {}

jit.off(true, true) -- as core.watch.deep_stack

local function recover(first, thread)
  local at = running_app.at_error(first, thread)
  if at and at.region then
    at.region:recover(at.in_region, at.entry, at.variables)
  end
  return at
end

--- The error `err`, with the app at work in front; that app's name, and a list of the
--- packets it was given, if they are known. A region's burst has been put in order.
--- Looks at the stack from `first` on, of `thread` (core.watch.deep_stack).
function rescue.error(err, first, thread)
  local ok, at = pcall(recover, first, thread)
  if not ok or not at then return err, failure.is(err) and err.app or nil end
  if failure.is(err) and err.app then return err, err.app, at.packets end
  return failure.in_app(at.app, at.method, err), at.app, at.packets
end

--- The error so named, with a traceback; its fields `app` and `packets` are the app's
--- name and those packets.
function rescue.alone(err)
  local named, app, packets = rescue.error(err)
  local explained = failure.explain(named)
  explained.app, explained.packets = app, packets
  return explained
end

return rescue
