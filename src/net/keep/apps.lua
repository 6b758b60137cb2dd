-- SPDX-License-Identifier: Apache-2.0
-- Apps whose state outlives the process. An app that has some has a method
-- kept_state(), which returns a list of net.keep's items, or nil. It is asked when the
-- app begins, and again when it has another argument, of which its tables may be new.
-- An item is called after the app, unless it says that its name is whole_name.

local instance = require("core.engine.instance")
local keep = require("net.keep.keep")

local apps = {}

local function keep_app(app)
  for _, item in ipairs(app:kept_state() or {}) do
    if not item.whole_name then
      item.of = ("%s's %s"):format(app.appname, item.of)
    end
    keep.records(item)
  end
end

--- Keep state under the name from now on: that of apps, too. As keep.use().
function apps.use(name)
  keep.use(name)
  instance.keep_by(keep_app)
end

return apps
