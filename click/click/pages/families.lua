-- SPDX-License-Identifier: Apache-2.0
-- All element classes by family, for a terminal and for doc/click-elements.md. A family
-- is a folder of click/elements.

local element_page = require("click.pages.element")
local spelling = require("core.lib.spelling")
local registry = require("click.registry")

local families = {}

--- A list of {name =, classes =}, both sorted by name.
function families.list()
  local by_name, list = {}, {}
  for _, class in ipairs(registry.list()) do
    local name = registry.family(class)
    if not by_name[name] then
      by_name[name] = {name = name, classes = {}}
      list[#list + 1] = by_name[name]
    end
    table.insert(by_name[name].classes, class)
  end
  table.sort(list, function (a, b) return a.name < b.name end)
  return list
end

--- The list as text for a terminal.
function families.text()
  local lines = {}
  for _, family in ipairs(families.list()) do
    lines[#lines + 1] = (#lines > 0 and "\n" or "") .. family.name
    for _, class in ipairs(family.classes) do
      lines[#lines + 1] = ("  %-24s %s"):format(class.name, class.summary)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- The page of the class of that name, or nil and a sentence.
function families.explain(name)
  local class = registry.find(name)
  if class then return element_page.text(class) end
  local hint = spelling.hint(name, registry.names())
  return nil, ("there is no element class '%s'%s"):format(name,
    hint == "" and "; `perigee click --explain` lists all" or hint)
end

-- Markdown -------------------------------------------------------------------------

local function cell(text) return (text:gsub("|", "\\|")) end

local HEADING = [=[
# Click's elements

The element classes that Perigee has, by family: %d.

    $ perigee click --explain Strip > /dev/null

prints the page of one: the types and defaults of its arguments, keywords, handlers,
what it drops, an example that runs, and what differs from Click. Codes of ports and
processing are Click's: h is push, l is pull, a is either. This page is written by
`make clickelements`.
]=]

--- doc/click-elements.md.
function families.markdown()
  local lines = {HEADING:format(#registry.list())}
  for _, family in ipairs(families.list()) do
    lines[#lines + 1] = ("## %s\n\n| element | ports | |\n|---|---|---|")
      :format(family.name)
    for _, class in ipairs(family.classes) do
      local ports = type(class.ports) == "string" and class.ports or "any"
      local letters = type(class.processing) == "string" and class.processing or "any"
      lines[#lines + 1] = ("| `%s` | %s %s | %s |"):format(
        cell(element_page.call(class)), ports, letters, cell(class.summary))
    end
    lines[#lines + 1] = ""
  end
  return (table.concat(lines, "\n"):gsub("\n+$", "\n"))
end

return families
