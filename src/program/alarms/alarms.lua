-- SPDX-License-Identifier: Apache-2.0
-- `perigee alarms COMMAND`: see what is wrong with a running network function, and say
-- what has been done about it, over the socket of `perigee config`.

local commands = require("program.alarms.commands")
local front = require("lib.leader.front")

local M = {summary = "see alarms of a running lwAFTR, and answer them"}

local PROGRAM = {
  name = "alarms",
  about = "See what is wrong with a running network function, and say what has been "
    .. "done about it.",
  order = {"get-state", "set-operator-state", "purge", "compress", "listen"},
  commands = commands,
}

--- Run the command `args[1]` with the arguments behind it.
function M.run(args) front.run(PROGRAM, args) end

return M
