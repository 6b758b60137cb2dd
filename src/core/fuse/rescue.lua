-- SPDX-License-Identifier: Apache-2.0
-- After an error in an app: names it in the error, and puts the burst that a region was
-- at in order, so that the packet path needs no protection. To be called by the handler
-- of xpcall.

local failure = require("core.failure")
local running_app = require("core.watch.running_app")

local rescue = {}

jit.off(true, true) -- as core.watch.running_app

local function recover()
  local at = running_app.at_error()
  if at and at.region then
    at.region:recover(at.number, at.before, at.entry, at.variables)
  end
  return at
end

--- The error `err`, with the app in front if a per-packet app raised it; and the name
--- of the app at work, if it is known. A region's burst has been put in order.
function rescue.error(err)
  local ok, at = pcall(recover)
  if not ok or not at then return err end
  if not at.method then return err, at.app end
  local where = ("app '%s': in %s(): "):format(at.app, at.method)
  if type(err) == "string" then return where .. err, at.app end
  if failure.is(err) then err.sentence = where .. err.sentence end
  return err, at.app
end

--- The error so named, with a traceback.
function rescue.alone(err)
  return failure.explain((rescue.error(err)))
end

return rescue
