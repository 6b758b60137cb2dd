-- SPDX-License-Identifier: Apache-2.0
-- `perigee test [FILE or DIRECTORY ...]`: busted inside the runtime, so that
-- specs can use packets, links and ports.

local M = {summary = "run spec files (busted) inside the runtime"}

--- Why --sandbox is refused.
M.no_sandbox = "it handles no packets"

local failure = require("core.failure")
local module_path = require("lib.module_path")
local stat = require("posix.sys.stat")
local stdlib = require("posix.stdlib")

local USAGE = [[
Usage: perigee test [OPTION ...] [FILE or DIRECTORY ...]

Runs the specs (files whose names end with _spec.lua, for busted) of the files and
directories, or of Perigee's whole tree. A spec may require() modules in its own folder.

  --share=FOLDER  run only files that no other process started with the same FOLDER
                  has begun: it has a file for each
  --outcomes=FILE write to FILE what becomes of each file and test, as it happens: JSON,
                  an object a line

Other options go to busted, such as --filter=PATTERN or --exclude-tags=slow.]]

-- Support for specs (test/lua) isn't part of an installation.
local function checkout(root)
  if not require("posix.sys.stat").stat(root .. "/test/lua") then
    failure.usage("specs are run from a checkout of Perigee; this is an installation")
  end
  return root
end

-- What runs specs, a package of its own.
local function busted()
  local found, runner = pcall(require, "busted.runner")
  if not found then
    failure.raise("specs need busted, which can't be loaded "
      .. "(apt-get install lua-busted): %s",
      runner:match("^[^\n]*"):gsub(":$", ""))
  end
  return runner
end

local function sorted(list)
  table.sort(list)
  return list
end

-- The spec files that the paths name, themselves or as folders. (busted goes round
-- where links lead in circles.)
local function specs_of(paths)
  local all = {}
  for _, path in ipairs(paths) do
    local found = {path}
    if not stat.stat(path) then
      failure.usage("there is no spec file or folder '%s'", path)
    elseif stat.S_ISDIR(stat.stat(path).st_mode) ~= 0 then
      found = {}
      require("core.lib.walk").files(path, function (file)
        if file:match("_spec%.lua$") then found[#found + 1] = file end
      end)
    elseif not path:match("%.lua$") then
      failure.usage("'%s' is no spec file: those end in .lua", path)
    end
    for _, file in ipairs(sorted(found)) do all[#all + 1] = file end
  end
  if #all == 0 then
    failure.raise("there are no specs (*_spec.lua) in %s", table.concat(paths, ", "))
  end
  return all
end

-- Specs of Perigee's own tree find modules by their whole names. Others find those
-- beside them, too.
local function find_modules_beside(specs, own)
  for _, file in ipairs(specs) do
    local path, is_own = stdlib.realpath(file) or "", false
    for _, folder in ipairs(own) do
      is_own = is_own or path:sub(1, #folder + 1) == folder .. "/"
    end
    if not is_own then module_path.add_folder_of(file) end
  end
end

local function check_folder(path)
  local found = stat.stat(path)
  if not found or stat.S_ISDIR(found.st_mode) == 0 then
    failure.usage("--share=%s: there is no such folder", path)
  end
end

-- The words of the command line for busted.
local function arguments_of(args, folders)
  local options, paths = {}, {}
  for _, arg in ipairs(args) do
    local name, value = arg:match("^(%-%-%w+)=(.*)$")
    if name == "--share" then
      check_folder(value)
      options[#options + 1] = "--helper=testing.share"
      options[#options + 1] = "-Xhelper"
      options[#options + 1] = value
    elseif name == "--outcomes" then
      table.insert(options, "-Xoutput")
      table.insert(options, value)
    else
      table.insert(arg:match("^%-") and options or paths, arg)
    end
  end
  paths = specs_of(#paths == 0 and folders or paths)
  find_modules_beside(paths, folders)
  local words = {[0] = "perigee test", "--pattern=_spec", "--output=testing.output",
                 "--no-auto-insulate"}
  for _, list in ipairs{options, paths} do
    for _, item in ipairs(list) do table.insert(words, item) end
  end
  return words
end

--- Run busted on the given files or directories, or on the whole Lua tree.
function M.run(args)
  local main = require("core.main")
  if args[1] == "-h" or args[1] == "--help" then
    print(USAGE)
    return
  end
  local root = checkout(main.root)
  package.path = ("%s/test/lua/?.lua;%s"):format(root, package.path) -- what specs share
  rawset(_G, "arg", arguments_of(args, main.spec_folders()))
  -- busted would make ffi.typeof remember results by their text, without parameters.
  package.preload["busted.luajit"] = function() return function() end end
  local runner = busted()
  local exit = os.exit
  os.exit = function (status) -- busted ends the process itself
    os.exit = exit
    if status == true then status = 0 elseif not status then status = 1 end
    main.exit(status)
  end
  local ok, err = pcall(runner, {standalone = false})
  require("core.native").pg_forget_failure() -- specs are about those, too
  if err ~= nil then error(err, 0) end
  if not ok then main.exit(1) end -- error() without a value: tests failed
end

return M
