-- SPDX-License-Identifier: Apache-2.0

local affinity = require("core.cpus.affinity")

describe("a list of CPUs", function ()
  it("is one of numbers and ranges", function ()
    assert.same({0, 1, 2, 3, 8}, affinity.parse("0-3,8"))
    assert.same({4, 2}, affinity.list(" 4 ,2,4"))
  end)

  it("ends with the highest number that a CPU may have", function ()
    assert.same({0, 1022, 1023}, affinity.list("0,1022-999999999999999999990"))
    assert.same({}, affinity.parse("999999999999999999990"))
    for _, text in ipairs{"1024", "2000-3000", "999999999999999999990"} do
      local ok, err = pcall(affinity.list, text)
      assert.is_false(ok)
      assert.equal("--cpus " .. text .. " has no CPU; they are numbered from 0 to 1023",
        tostring(err))
    end
  end)

  for _, text in ipairs{"", "x", "1-", "-1", "1--2", "1,,2", "1.5", "0x1", "1 2"} do
    it(("isn't '%s'"):format(text), function ()
      local ok, err = pcall(affinity.list, text)
      assert.is_false(ok)
      assert.equal("--cpus " .. text .. ": give CPUs such as 1-4 or 0,2", tostring(err))
    end)
  end
end)
