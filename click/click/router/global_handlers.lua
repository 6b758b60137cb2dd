-- SPDX-License-Identifier: Apache-2.0
-- The router's own handlers. A router's `global_handlers` finds these, and has room for
-- those that programs add (hotconfig).

local flatfile = require("click.language.flatfile")
local handlers = require("click.router.handlers")
local main = require("core.main")

local function names_of_elements(router)
  local lines = {("%d\n"):format(#router.elements)}
  for _, e in ipairs(router.elements) do lines[#lines + 1] = e.name .. "\n" end
  return table.concat(lines)
end

local function requirements(router)
  local lines = {}
  for _, requirement in ipairs(router.flat.requirements or {}) do
    lines[#lines + 1] = table.concat(requirement, "\n") .. "\n"
  end
  return table.concat(lines)
end

-- The flat configuration, as it has become.
local function flatconfig(router)
  local flat = {}
  for field, value in pairs(router.flat) do flat[field] = value end
  flat.elements = {}
  for i, e in ipairs(router.elements) do
    flat.elements[i] = {name = e.name, class = e.class.name, landmark = e.landmark,
                        config = handlers.read(router, e, "config") or e.config}
  end
  return flatfile.text(flat)
end

local function stop(router, text) router:stop(tonumber(text)) end

return {
  version = {read = function () return main.version or "" end},
  driver = {read = function () return "userlevel" end},
  config = {read = function (router)
    return router.flat.source or flatconfig(router)
  end},
  flatconfig = {read = flatconfig},
  list = {read = names_of_elements},
  handlers = {read = function (router) return handlers.list(router.root) end},
  requirements = {read = requirements},
  stop = {write = stop},
}
