-- SPDX-License-Identifier: Apache-2.0
-- How apps are called that need packets (class.needs_packets): not for a link that has
-- none. Compiled, as the breath is.

--- push(app, link) of such an app.
return function (app, l)
  if l.write ~= l.read or l.nhanded > 0 then app:push(l) end
end
