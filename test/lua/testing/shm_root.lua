-- SPDX-License-Identifier: Apache-2.0
-- For specs of shared memory: a root of its own, in a new directory.

local shm = require("core.shm")
local shm_tree = require("core.shm.tree")
local stdlib = require("posix.stdlib")

local M = {}

local directory, before

--- Let shm.root be a new directory; its path. To be called before each test.
function M.make()
  directory, before = assert(stdlib.mkdtemp("/tmp/perigee-spec-XXXXXX")), shm.root
  shm.root = directory
  return directory
end

--- Remove it, and let shm.root be what it was. To be called after each test.
function M.remove()
  shm_tree.remove(directory)
  shm.root = before
end

return M
