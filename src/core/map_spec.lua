-- SPDX-License-Identifier: Apache-2.0
-- The maps of the tree in CONTRIBUTING and in READMEs: they name every folder, and what
-- they name is there.

local dirent = require("posix.dirent")
local main = require("core.main")
local stat = require("posix.sys.stat")

-- A map is a page's tables. It names each folder in `below`, as its rows write it.
local MAPS = {
  {page = "CONTRIBUTING.md", below = "", prefix = ""},
  {page = "CONTRIBUTING.md", below = "src", prefix = "src/"},
  {page = "src/core/README.md", below = "src/core", prefix = ""},
  {page = "src/net/README.md", below = "src/net", prefix = ""},
  {page = "src/native/README.md", below = "src/native", prefix = ""},
  {page = "snabb/README.md", below = "snabb", prefix = ""},
  {page = "click/README.md", below = "click/click", prefix = "click/"},
  {page = "moongen/README.md", below = "moongen", prefix = ""},
  {page = "moongen/README.md", below = "moongen/moongen", prefix = "moongen/"},
}

-- They aren't in the repository, or hold nothing that a map is for.
local LEFT_OUT = {build = true, ["moongen/moongen"] = true, ["snabb/arch"] = true,
                  ["click/click"] = true}

local function read(page)
  local file = assert(io.open(main.root .. "/" .. page))
  local text = file:read("*a")
  file:close()
  return text
end

local function is_folder(path)
  local found = stat.stat(path)
  return found ~= nil and stat.S_ISDIR(found.st_mode) ~= 0
end

local function holds_anything(path)
  for name in dirent.files(path) do
    if not name:match("^%.%.?$") then return true end
  end
  return false
end

local function folders(below)
  local list = {}
  for name in dirent.files(main.root .. "/" .. below) do
    local path = (below == "" and "" or below .. "/") .. name
    local whole = main.root .. "/" .. path
    if not name:match("^[._]") and not LEFT_OUT[path] and is_folder(whole)
        and holds_anything(whole) then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list
end

-- The text of the page's tables.
local function tables(page)
  local rows = {}
  for row in (read(page) .. "\n"):gmatch("([^\n]*)\n") do
    if row:match("^|") then rows[#rows + 1] = row end
  end
  return table.concat(rows, "\n")
end

local function has_word(text, word)
  return text:find("%f[%w_/.]" .. word:gsub("%p", "%%%0") .. "%f[^%w_]") ~= nil
end

describe("The maps of the tree", function ()
  for _, map in ipairs(MAPS) do
    it(("name all of /%s: %s"):format(map.below, map.page), function ()
      local text, missing = tables(map.page), {}
      for _, name in ipairs(folders(map.below)) do
        if not has_word(text, map.prefix .. name) then missing[#missing + 1] = name end
      end
      assert.same({}, missing)
    end)
  end

  it("name what is there: CONTRIBUTING's \"What is where\"", function ()
    local text = read("CONTRIBUTING.md"):match("## What is where\n(.-)\n## ")
    local missing, count = {}, 0
    for row in text:gmatch("\n| [^|]+ | ([^|]+) |%f[\n]") do
      row = row:gsub("%[([^]]*)%]%([^)]*%)", "%1")
      for path in row:gmatch("%f[%w/](%l[%w_/.]*/[%w_/.]*)") do
        count = count + 1
        if not stat.stat(main.root .. "/" .. path) then missing[#missing + 1] = path end
      end
    end
    assert.same({}, missing)
    assert.is_true(count > 40, count)
  end)
end)
