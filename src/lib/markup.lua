-- SPDX-License-Identifier: Apache-2.0
-- Text within XML and HTML.

local markup = {}

local ENTITIES = {["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;", ['"'] = "&quot;",
                  ["'"] = "&#39;"}

--- The text as it may stand between tags, and in attributes (XML 1.0, section 2.4).
function markup.escape(text) return (text:gsub("[<>&\"']", ENTITIES)) end

return markup
