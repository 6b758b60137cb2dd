-- SPDX-License-Identifier: Apache-2.0
-- The request `finish` of programs that measure (doc/control.md): the run ends as by
-- Ctrl-C, and the program reports what there is.

local server = require("lib.control.server")
local signal = require("posix.signal")

local finish = {}

--- Let the control socket of this process take it.
function finish.let_in()
  server.commands.finish = {arguments = {}, run = function ()
    signal.raise(signal.SIGINT)
    return {finished = true}
  end}
end

return finish
