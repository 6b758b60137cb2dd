-- SPDX-License-Identifier: Apache-2.0
-- The request `configuration` of the control socket (doc/control.md): what runs, as the
-- program reads it, which `perigee config save` asks for.

local server = require("lib.control.server")

local offer = {}

--- Let this process be asked for it: text() returns it.
function offer.let_in(text)
  server.commands.configuration = {arguments = {}, run = function ()
    return {text = text()}
  end}
end

return offer
