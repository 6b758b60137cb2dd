-- SPDX-License-Identifier: Apache-2.0
-- Apps whose state outlives the process. An app that has some has a method
-- kept_state(), which returns a list of net.keep's items, or nil. It is asked when the
-- app begins, and again when it has another argument, of which its tables may be new.

local instance = require("core.engine.instance")
local keep = require("net.keep.keep")

local apps = {}

local function keep_app(app)
  for _, item in ipairs(app:kept_state() or {}) do
    item.of = ("%s's %s"):format(app.appname, item.of)
    keep.records(item)
  end
end

--- Keep state under the name from now on: that of apps, too. As keep.use().
function apps.use(name)
  keep.use(name)
  instance.keep_by(keep_app)
end

return apps
