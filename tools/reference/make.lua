-- SPDX-License-Identifier: Apache-2.0
-- perigee run tools/reference/make.lua FOLDER [ROOT]: writes what ldoc is to read
-- there, a file for each module of src/core, net, lib, port and apps of the tree at
-- ROOT (this one) with the comments of its public functions. It fails if one has none.
-- (ldoc itself wants comments that open with three dashes at a file's top, and tags.)

local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$")
package.path = here .. "/?.lua;" .. package.path

local comments = require("comments")
local dir = require("pl.dir")
local dirent = require("posix.dirent")
local failure = require("core.failure")
local files = require("core.lib.files")
local stat = require("posix.sys.stat")

local folder, root = ...
root = root or here .. "/../.."
local ROOMS = {"src/core", "src/net", "src/lib", "src/port", "src/apps"}
-- What is called by one module alone, which says what each is for.
local CONTRACTS = {"^src/port/[^/]+/kind.lua$", "^src/lib/stack/proto/"}
-- What the engine calls of apps (doc/apps.md).
local OF_APPS = {new = true, begin = true, link = true, unlink = true, pull = true,
  push = true, tick = true, process = true, process_burst = true, reconfig = true,
  report = true, stop = true}

local missing, functions = {}, 0 -- functions that have a comment

local function is_contract(path)
  for _, pattern in ipairs(CONTRACTS) do
    if path:match(pattern) then return true end
  end
end

local function add(list, lines)
  for _, line in ipairs(lines) do list[#list + 1] = "-- " .. line end
end

-- The page of a module, and how many functions are on it.
local function page(path, found)
  local module = path:match("^src/(.*)%.lua$"):gsub("/", ".")
  local out = {"--- " .. (found.heading[1] or module)}
  add(out, {unpack(found.heading, 2)})
  add(out, {"@module " .. module})
  local documented = 0
  for _, f in ipairs(found.functions) do
    local is_apps = path:match("^src/apps") and f.sign == ":" and OF_APPS[f.name]
    if f.comment then
      documented = documented + 1
      out[#out + 1] = ""
      out[#out + 1] = "--- " .. f.comment[1]
      add(out, {unpack(f.comment, 2)})
      out[#out + 1] = ("function %s%s%s end"):format("M" .. f.sign, f.name, f.arguments)
    elseif not (is_apps or is_contract(path)) then
      missing[#missing + 1] = ("%s:%d: %s"):format(path, f.line, f.name)
    end
  end
  functions = functions + documented
  return table.concat(out, "\n") .. "\n", documented
end

local function walk(path)
  for name in dirent.files(root .. "/" .. path) do
    local below = path .. "/" .. name
    local found = stat.stat(root .. "/" .. below)
    if found and stat.S_ISDIR(found.st_mode) ~= 0 and not name:match("^%.") then
      walk(below)
    elseif name:match("%.lua$") and not name:match("_spec%.lua$") then
      local text, documented = page(below, comments.read(root .. "/" .. below))
      if documented > 0 then
        local to = folder .. "/" .. below:gsub("^src/", "")
        dir.makepath((to:match("^(.*)/")))
        files.save(to, text)
      end
    end
  end
end

for _, room in ipairs(ROOMS) do
  if stat.stat(root .. "/" .. room) then walk(room) end
end
table.sort(missing)
for _, line in ipairs(missing) do io.stderr:write(line, " has no comment\n") end
if #missing > 0 then
  failure.raise("%d public functions have no comment that begins with ---", #missing)
end
print(("%d public functions, each with a comment"):format(functions))
