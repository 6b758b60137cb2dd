-- SPDX-License-Identifier: Apache-2.0
-- Handlers of a router as a whole. In each function `root` stands for it: root.router.

local main = require("core.main")
local numbers = require("click.script.numbers")
local registry = require("click.registry")

local function lines(list)
  return #list == 0 and "" or table.concat(list, "\n") .. "\n"
end

local function codes(class, field)
  return type(class[field]) == "string" and class[field] or "?"
end

local function escaped(text)
  return (text:gsub("[&<>\"]", {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
    ['"'] = "&quot;"}))
end

local ENTRY =
  '  <entry name="%s" portcount="%s" processing="%s" flowcode="%s" />'

-- What Click's tools want to know of the classes, in their XML.
local function element_map()
  local out = {'<?xml version="1.0" standalone="yes"?>',
    '<elementmap xmlns="http://www.lcdf.org/click/xml/">'}
  for _, class in ipairs(registry.list()) do
    out[#out + 1] = ENTRY:format(class.name, escaped(codes(class, "ports")),
      escaped(codes(class, "processing")), escaped(codes(class, "flow")))
  end
  out[#out + 1] = "</elementmap>"
  return lines(out)
end

local function names_of(elements)
  local names = {tostring(#elements)}
  for _, element in ipairs(elements) do names[#names + 1] = element.name end
  return names
end

return {
  version = {read = function () return main.version end},
  driver = {read = function () return "userlevel" end},
  config = {read = function (root) return root.router.text or "" end},
  flatconfig = {read = function (root)
    return require("click.language.unparse").text(root.router.flat)
  end},
  list = {read = function (root) return lines(names_of(root.router.elements)) end},
  requirements = {read = function (root)
    return lines(root.router.flat.requirements or {})
  end},
  classes = {read = function () return lines(registry.names()) end},
  packages = {read = function () return "" end},
  threads = {read = function (root) return tostring(root.router.threads or 1) end},
  element_map = {read = function () return element_map() end},
  stop = {write = function (root, text)
    root.router:stop(numbers.small(text, 0, 2 ^ 31 - 1) or 1)
  end},
}
