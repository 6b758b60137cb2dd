-- SPDX-License-Identifier: Apache-2.0
-- perigee run tools/manual/pages.lua FOLDER...: takes links out of the installed pages
-- below the folders whose targets aren't installed, such as specs and C; their words
-- stay. `make install` calls it.

local stat = require("posix.sys.stat")
local walk = require("core.lib.walk")

local function leads_somewhere(folder, target)
  if target:match("^%a[%w+.-]*:") or target:match("^#") then return true end
  return stat.stat(folder .. target:gsub("#.*$", "")) ~= nil
end

-- The page's text without such links.
local function mended(text, folder)
  return (text:gsub("(%[([^%[%]]*)%]%(([^)%s]+)%))", function (link, words, target)
    return leads_somewhere(folder, target) and link or words
  end))
end

local function mend(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  local new = mended(text, path:match("^.*/"))
  if new == text then return end
  file = assert(io.open(path, "w"))
  assert(file:write(new))
  assert(file:close())
end

for _, folder in ipairs{...} do
  walk.files(folder, function (path)
    if path:match("%.md$") then mend(path) end
  end)
end
