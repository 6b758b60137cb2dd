-- SPDX-License-Identifier: Apache-2.0
-- Examples for the pages of elements, from pages/examples/FAMILY.txt, which have for
-- each class its name, a configuration, and, if it prints something, what it prints:
--
--     Counter
--         InfiniteSource(LIMIT 5, STOP true) -> c :: Counter -> Discard;
--         DriverManager(pause, print c.count)
--       prints
--         5
--
-- Each runs in at most some seconds, and ends by itself; the spec and
-- test/test_click_pages.py run them all.

local registry = require("click.registry")

local examples = {}

local families = {} -- by name: {CLASS = {text =, prints =}}

local function folder()
  local here = debug.getinfo(1, "S").source
  return (here:match("^@(.*)%.lua$"))
end

--- The examples of a text of that form, by the names of classes: {text =, prints =}.
function examples.parse(text)
  local list, last, field = {}, nil, nil
  for line in text:gmatch("([^\n]*)\n") do
    local name, indented = line:match("^(%w+)$"), line:match("^    (.*)$")
    if name then
      last, field = name, "text"
      list[name] = {}
    elseif line == "  prints" then
      field = "prints"
    elseif indented then
      list[last][field] = (list[last][field] or "") .. indented .. "\n"
    elseif line ~= "" then
      error(("examples: '%s' is no name, and isn't indented by 4"):format(line))
    end
  end
  return list
end

--- The examples of a family of elements, by the names of classes.
function examples.family(name)
  if not families[name] then
    local file = io.open(("%s/%s.txt"):format(folder(), name))
    families[name] = file and examples.parse(file:read("*a")) or {}
    if file then file:close() end
  end
  return families[name]
end

--- The example of the class: {text =, prints = (nil: nothing)}; nil if there is none.
function examples.of(class)
  local family = registry.family(class)
  return family and examples.family(family)[class.name]
end

return examples
