-- SPDX-License-Identifier: Apache-2.0
-- `perigee loadtest`: loads ports at rates and looks what comes back.

local cli = require("lib.cli")

local M = {summary = "test a device as RFC 2544 has it, or ramp rates"}

--- Why --cpus is refused.
M.one_cpu = "it steers its apps from one trial to the next"

local SUBPROGRAMS = {["find-limit"] = "find_limit", find_limit = "find_limit",
                     mlrsearch = "mlrsearch", rfc2544 = "rfc2544",
                     transient = "transient"}

local function parser()
  local p = cli.parser("loadtest", "Send traffic to ports at various rates, and count "
    .. "what comes back. See `perigee loadtest SUBPROGRAM --help` for "
    .. "options.")
  p:argument("subprogram", "find-limit (the highest rate without loss), mlrsearch (the "
    .. "rates without loss and with little of it, by Multiple Loss Ratio search), "
    .. "rfc2544 (all tests of RFC 2544, with a report) or transient (what comes back "
    .. "at one rate after another).")
    :choices{"find-limit", "mlrsearch", "rfc2544", "transient"}
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
