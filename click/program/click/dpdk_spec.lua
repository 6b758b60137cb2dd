-- SPDX-License-Identifier: Apache-2.0
local dpdk = require("program.click.dpdk")

describe("click --dpdk", function ()
  local function split(text)
    local words = {}
    for word in text:gmatch("%S+") do words[#words + 1] = word end
    return dpdk.split(words)
  end

  it("keeps the CPUs, and leaves DPDK the rest", function ()
    assert.same({{0, 1, 2, 3, 8}, {"-n", "4"}}, {split("-l 0-3,8 -n 4")})
    assert.same({{2}, {}}, {split("-l2")})
    assert.same({{0, 1, 4, 9}, {"-a", "0000:01:00.0"}},
      {split("-c 0x213 -a 0000:01:00.0")})
    assert.same({nil, {"--no-huge"}}, {split("--no-huge")})
  end)

  it("refuses what is no list of CPUs", function ()
    for _, text in ipairs{"-l x", "-l", "-c 0", "-c y", "-l 3-1"} do
      local _, _, problem = split(text)
      assert.truthy(problem:find("no list of CPUs", 1, true), text)
    end
  end)
end)
