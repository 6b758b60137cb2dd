-- SPDX-License-Identifier: Apache-2.0
-- For specs of what outlives processes (lib.ipsec.iv_store): a folder for it.

local process = require("core.lib.process")
local stdlib = require("posix.stdlib")

local testing = {}

local before

--- A new $PERIGEE_STATE; its path. To be called before each test.
function testing.make()
  before = process.getenv("PERIGEE_STATE")
  testing.path = assert(stdlib.mkdtemp("/tmp/perigee-spec-XXXXXX"))
  stdlib.setenv("PERIGEE_STATE", testing.path)
  return testing.path
end

--- Remove it, and have that of before again.
function testing.remove()
  os.execute("rm -r " .. testing.path)
  stdlib.setenv("PERIGEE_STATE", before)
end

return testing
