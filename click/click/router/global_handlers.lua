-- SPDX-License-Identifier: Apache-2.0
-- The router's own handlers. A router's `global_handlers` finds these, and has room for
-- those that programs add (hotconfig).

local cpu_time = require("click.router.cpu_time")
local flatfile = require("click.language.flatfile")
local handlers = require("click.router.handlers")
local main = require("core.main")
local markup = require("lib.markup")
local registry = require("click.registry")
local tables = require("core.lib.tables")

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
  local flat = tables.copy(router.flat)
  flat.elements = {}
  for i, e in ipairs(router.elements) do
    flat.elements[i] = {name = e.name, class = e.class.name, landmark = e.landmark,
                        config = handlers.read(router, e, "config") or e.config}
  end
  return flatfile.text(flat)
end

local function lines(list)
  return #list == 0 and "" or table.concat(list, "\n") .. "\n"
end

local ENTRY = '  <entry name="%s" portcount="%s" processing="%s" flowcode="%s" />'

-- One of Click's codes in XML; "?" if it depends on the element.
local function code(class, field)
  local text = type(class[field]) == "string" and class[field] or "?"
  return markup.escape(text)
end

-- What Click's tools want to know of the classes, as they read it.
local function element_map()
  local list = {'<?xml version="1.0" standalone="yes"?>',
    '<elementmap xmlns="http://www.lcdf.org/click/xml/">'}
  for _, class in ipairs(registry.list()) do
    list[#list + 1] = ENTRY:format(class.name, code(class, "ports"),
      code(class, "processing"), code(class, "flow"))
  end
  list[#list + 1] = "</elementmap>"
  return lines(list)
end

-- The ports that packets are counted at: those that push, or pull, by themselves.
local function active_ports(router)
  local list = {}
  local function add(e, letters, active, mark)
    for port = 1, #letters do
      if (letters:sub(port, port) == "l") == active then
        list[#list + 1] = ("%s\t%s%d"):format(e.name, mark, port - 1)
      end
    end
  end
  for _, e in ipairs(router.elements) do
    add(e, e.processing.inputs, true, "i")
    add(e, e.processing.outputs, false, "o")
  end
  return lines(list)
end

-- Threads are numbered; a router's handlers know of the one that they run on, 0.
local function of_thread(format, f)
  return {param = true, read = function (router, text)
    if text == "" or text == "0" then return format:format(f(router)) end
    return nil, ("'%s' is no thread whose load is known"):format(text)
  end}
end

local function stop(router, text) router:stop(tonumber(text)) end

return {
  version = {read = function () return main.release or "" end},
  driver = {read = function () return "userlevel" end},
  config = {read = function (router)
    return router.flat.source or flatconfig(router)
  end},
  flatconfig = {read = flatconfig},
  list = {read = names_of_elements},
  handlers = {read = function (router) return handlers.list(router.root) end},
  requirements = {read = requirements},
  classes = {read = function () return lines(registry.names()) end},
  packages = {read = function () return "" end},
  threads = {read = function (router) return router.options.threads or 1 end},
  element_map = {read = element_map},
  active_ports = {read = active_ports},
  timewarp = {read = function (router)
    return router.clock.simulated and "simulation" or 1
  end},
  stop = {write = stop},
  load = of_thread("%.3g", cpu_time.load),
  useful_kcycles = of_thread("%.0f", cpu_time.kilocycles),
}
