-- SPDX-License-Identifier: Apache-2.0
-- `perigee lwaftr drain`: a running lwAFTR goes on, but says that it isn't ready, so
-- that neighbours learn to send their packets elsewhere before it is stopped.

local cli = require("lib.cli")
local client = require("lib.leader.client")
local running = require("program.lwaftr.running")

local M = {}

--- Run the command.
function M.run(args)
  local p = cli.parser("lwaftr drain", "Let a running lwAFTR be ready no more (`query "
    .. "--ready`, --ready-file). Packets go on through it.")
  p:argument("instance", "its process id or name (needed if there are several)")
    :args("?")
  p:flag("--undo", "let it be ready again")
  local options = cli.parse(p, args)
  local connection = client.of((running.find(options.instance)))
  print(connection:call("drain", {on = not options.undo}).fields.state)
  connection:close()
end

return M
