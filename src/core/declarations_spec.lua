-- SPDX-License-Identifier: Apache-2.0

local main = require("core.main")

local TAGS = "grep -rhoE '(struct|enum|union) [[:alnum:]_]+ *[{]' --include='*.h' "

local function lines(command)
  local pipe = assert(io.popen(command))
  local found = {}
  for line in pipe:lines() do found[line:match("([%w_]+)%s*{")] = line end
  pipe:close()
  return found
end

describe("core.declarations", function ()
  -- Programs declare the kernel's structures under their names; ljsyscall leaves out
  -- underscores that some begin with. LuaJIT has one name space for all.
  it("leaves the kernel's names to programs", function ()
    local kernel = lines(TAGS .. "/usr/include/linux")
    assert.truthy(kernel.ndmsg and kernel.__fdb_entry)
    local ours = lines(("cd '%s' && %s src snabb click moongen"):format(main.root,
      TAGS))
    assert.truthy(ours.fdb_record)
    for name, line in pairs(ours) do
      for _, before in ipairs{"", "_", "__"} do
        assert.is_nil(kernel[before .. name], line)
      end
    end
  end)
end)
