-- SPDX-License-Identifier: Apache-2.0
-- `perigee proto`: the protocols that stacks can be made of, and the page of one.

local cli = require("lib.cli")
local failure = require("core.failure")

local M = {summary = "list the protocols of stacks, or print the page of one"}

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("proto",
    "List the protocols that lib.stack knows, or print the page of one: its fields"
    .. " with their widths, labels and defaults, and what may follow.")
  parser:argument("name", "The protocol's name."):args("?")
  local name = cli.parse(parser, args).name
  local page = require("lib.stack.page")
  local registry = require("lib.stack").registry
  if not name then
    io.write(page.list())
    return
  end
  local protocol = registry.find(name)
  if not protocol then
    local hint = require("core.lib.spelling").hint(name, registry.protocols())
    failure.usage("there is no protocol '%s'%s `perigee proto` lists all", name,
      hint == "" and ";" or hint)
  end
  io.write(page.text(protocol))
end

return M
