-- SPDX-License-Identifier: Apache-2.0
-- `perigee loadtest`: loads ports at rates and looks what comes back.

local cli = require("lib.cli")

local M = {summary = "find the highest rate without loss (RFC 2544), or ramp rates"}

--- Why --cpus is refused.
M.one_cpu = "it steers its apps from one trial to the next"

local SUBPROGRAMS = {["find-limit"] = "find_limit", find_limit = "find_limit",
                     transient = "transient"}

local function parser()
  local p = cli.parser("loadtest", "Send traffic to ports at various rates, and count "
    .. "what comes back. See `perigee loadtest find-limit --help` and `perigee "
    .. "loadtest transient --help` for options.")
  p:argument("subprogram", "find-limit (the highest rate without loss) or transient "
    .. "(what comes back at one rate after another).")
    :choices{"find-limit", "transient"}
  return p
end

--- Run the subprogram args[1].
function M.run(args)
  local module = SUBPROGRAMS[args[1] or ""]
  if not module then
    cli.parse(parser(), {args[1]})
    return
  end
  table.remove(args, 1)
  require(("program.loadtest.%s.%s"):format(module, module)).run(args)
end

return M
