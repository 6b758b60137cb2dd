-- SPDX-License-Identifier: Apache-2.0
-- For apps with C of their own: require("core.declare")("apps/vtep/vtep.h") declares
-- what is in the header, found where modules are, and returns the C functions that
-- there are (core.native).

local C = require("core.native")
local declarations = require("core.declarations")

return function (name)
  declarations.read(declarations.find(name))
  return C
end
