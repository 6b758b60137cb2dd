-- SPDX-License-Identifier: Apache-2.0
-- `perigee run FILE.lua ARGS`: a single file as a program; `perigee run GRAPH.yaml`: a
-- graph that a file describes (program.run.graph).

local document = require("lib.document.document")
local failure = require("core.failure")
local graph = require("program.run.graph")
local module_path = require("lib.module_path")
local standby = require("net.keep.standby")

local M = {summary = "run a Lua file, or a graph in JSON or YAML"}

--- What perigee ps shows: "run" and the file's name.
function M.title(args)
  local first = document.first_of(args) or args[1]
  return first and "run " .. first:match("[^/]*$") or "run"
end

--- Run args[1] with the rest as its arguments (`...`); if the file returns a
--- table with run(), that is called with them too.
function M.run(args)
  if args[1] == "-h" or args[1] == "--help" then
    print("Usage: perigee run FILE.lua [ARGUMENTS]\n"
      .. "       perigee run GRAPH.json|GRAPH.yaml [OPTIONS]\n\n"
      .. "Run FILE.lua with ARGUMENTS as `...`, `arg` and main.parameters; it may\n"
      .. "require() modules in its own folder. Or run a graph in JSON or YAML:\n"
      .. "`perigee run GRAPH.yaml --help` lists its options.")
    return
  end
  if document.first_of(args) then return graph.run(args) end
  standby.check()
  local file = table.remove(args, 1)
  if not file then failure.usage("run needs a file: perigee run FILE.lua") end
  module_path.add_folder_of(file)
  local chunk, err = loadfile(file)
  if not chunk then failure.usage("can't run %s: %s", file, err) end
  require("core.main").parameters = args
  rawset(_G, "arg", {[0] = file, unpack(args)})
  local program = chunk(unpack(args))
  if type(program) == "table" and program.run then program.run(args) end
end

return M
