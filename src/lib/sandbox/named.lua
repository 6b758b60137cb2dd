-- SPDX-License-Identifier: Apache-2.0
-- What the command line says of the sandbox (lib.sandbox.sandbox), and the files that
-- it names: for those who read it, which needn't load the sandbox.

local stat = require("posix.sys.stat")
local failure = require("core.failure")

local named = {wanted = false, outputs = {}, paths = {}}

--- The file `path` will be written, perhaps after packets flow.
function named.output(path) table.insert(named.outputs, path) end

--- The file `path`, or all in that folder, may be read and written (--sandbox-path).
function named.path(path)
  if not stat.stat(path) then
    failure.usage("--sandbox-path %s: there is no such file or folder; make it first",
      path)
  end
  table.insert(named.paths, path)
end

return named
