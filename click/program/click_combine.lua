-- SPDX-License-Identifier: Apache-2.0
-- `perigee click-combine`: one configuration of several routers and the links between
-- them.

local combine = require("click.transform.combine")
local filter = require("program.click.filter")

local M = {summary = "join Click configurations of several routers"}

local option = filter.part

local SPECS = {
  option("file", "f", "FILE", "A router's configuration is in FILE."),
  option("expression", "e", "EXPR", "A router's configuration is EXPR."),
  option("name", "n", "NAME", "The next router's name is NAME."),
  option("link", "l", "LINK",
    "NAME1.DEVICE1=NAME2.DEVICE2 are joined: devices or elements."),
  filter.OPTIONS[3], filter.CONFIG, filter.OPTIONS[5], filter.OPTIONS[6],
}

-- What a word without an option is: "A.eth0=B.eth1" a link, "A=FILE" and "A:FILE" a
-- router of that name, else a file.
local function part_of(word)
  local name, file = word:match("^([^:=.]+)[:=](.+)$")
  if name then return "router", name, file end
  if word:match("^[^=]*%.[^=]*=") then return "link", word end
  return "file", word
end

-- The routers and links of the command line; or nil, after a report.
local function read_parts(o, reporter)
  local routers, links, next_name = {}, {}, nil
  local function add(name, word, is_expression)
    local flat = filter.read({file = word, expression = is_expression, variables = {}},
      reporter)
    if not flat then return end
    routers[#routers + 1] = {name = name or next_name or ("%d"):format(#routers + 1),
      flat = flat}
    next_name = nil
  end
  for _, part in ipairs(o.parts or {}) do
    local kind, first, second = part.kind, part.value, nil
    if kind == "word" then kind, first, second = part_of(first) end
    if kind == "name" then next_name = first
    elseif kind == "link" then links[#links + 1] = first
    elseif kind == "router" then add(first, second)
    else add(nil, first, kind == "expression") end
  end
  return routers, links
end

--- Run with the command line's arguments (a list of strings).
M.run = filter.program("click-combine", "Join the configurations of several routers to "
  .. "one, in which links replace devices.", SPECS,
  "[FILE | NAME=FILE | LINK]...", function (o, reporter)
    local routers, links = read_parts(o, reporter)
    if reporter.count > 0 then return nil end
    if #routers == 0 then return reporter:error("no routers specified") end
    if #links == 0 then reporter:warning("no links between routers") end
    local flat, problem = combine.join(routers, links)
    if not flat then return reporter:error("%s", problem) end
    return filter.text(flat, o.config)
  end)

return M
