-- SPDX-License-Identifier: Apache-2.0
-- `perigee test [FILE or DIRECTORY ...]`: busted inside the runtime, so that
-- specs can use packets, links and ports.

local M = {summary = "run spec files (busted) inside the runtime"}

local USAGE = [[
Usage: perigee test [BUSTED-OPTION ...] [FILE or DIRECTORY ...]

Runs the specs (files whose names end with _spec.lua, for busted) of the files and
directories, or of Perigee's whole tree. Options go to busted, such as
--output=gtest or --filter=PATTERN.]]

--- Run busted on the given files or directories, or on the whole Lua tree.
function M.run(args)
  local main = require("core.main")
  if args[1] == "-h" or args[1] == "--help" then
    print(USAGE)
    return
  end
  local paths, options = {}, {}
  for _, arg in ipairs(args) do
    table.insert(arg:match("^%-") and options or paths, arg)
  end
  -- What specs share, and the model's laboratory: not part of an installation.
  package.path = ("%s/test/lua/?.lua;%s/bench/?.lua;%s"):format(main.root, main.root,
    package.path)
  if #paths == 0 then paths = main.spec_folders() end
  local arguments = {[0] = "perigee test", "--pattern=_spec",
                     "--output=plainTerminal", "--no-auto-insulate"}
  for _, list in ipairs{options, paths} do
    for _, item in ipairs(list) do table.insert(arguments, item) end
  end
  rawset(_G, "arg", arguments)
  -- busted would make ffi.typeof remember results by their text, without parameters.
  package.preload["busted.luajit"] = function() return function() end end
  local exit = os.exit
  os.exit = function (status) -- busted ends the process itself
    os.exit = exit
    if status == true then status = 0 elseif not status then status = 1 end
    main.exit(status)
  end
  local ok, err = pcall(require("busted.runner"), {standalone = false})
  if err ~= nil then error(err, 0) end
  if not ok then main.exit(1) end -- error() without a value: tests failed
end

return M
