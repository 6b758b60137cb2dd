-- SPDX-License-Identifier: Apache-2.0
-- core.lib gathers its parts, and is complete: every name of Snabb's core.lib.

local lib = require("core.lib")

local SNABB_NAMES = [[
  equal can_open can_read can_write readcmd readfile writefile readlink dirname
  basename firstfile firstline load_string load_conf store_conf print_object bits
  bitset bitfield hexdump hexundump comma_value bounds_checked throttle timeout waitfor
  waitfor2 yesno align csum update_csum finish_csum malloc deepcopy array_copy htonl
  htons ntohl ntohs dogetopt have_module root_check getenv execv random_bytes
  random_bytes_from_dev_urandom random_bytes_from_math_random randomseed random_data
  random_printable_string compiler_barrier parse set is_iface
]]

describe("core.lib", function()
  for name in SNABB_NAMES:gmatch("%S+") do
    it("has " .. name, function() assert.is_function(lib[name]) end)
  end

  it("gives strings a split method", function()
    assert.is_function(("").split)
  end)
end)
