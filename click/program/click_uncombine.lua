-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-uncombine`: one router out of what click-combine has joined.

local combine = require("click.transform.combine")
local filter = require("program.click.filter")

local M = {summary = "take a router out of a joined Click configuration"}

local SPECS = {
  {names = {"file"}, letter = "f", value = "FILE", field = "words", list = true,
    help = "Read the joined configuration from FILE."},
  {names = {"name"}, letter = "n", value = "NAME", field = "name",
    once = "component name", help = "The router's name, which may be the second word."},
  filter.OPTIONS[3], filter.OPTIONS[5], filter.OPTIONS[6],
}

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-uncombine", "Write one router's configuration out of "
  .. "what click-combine has joined.", SPECS, "[FILE [NAME]]", function (o, reporter)
    local words = o.words or {}
    local name = o.name or words[2]
    if not name then return reporter:error("no component name specified") end
    if #words > 2 or o.name and #words > 1 then
      return reporter:error("'%s': one file and one name are enough", words[#words])
    end
    local flat = filter.read({file = words[1], variables = {}}, reporter)
    if not flat then return nil end
    local part, problem = combine.part(flat, name)
    if not part then return reporter:error("%s", problem) end
    return filter.text(part)
  end)

return M
