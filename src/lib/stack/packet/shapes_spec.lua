-- SPDX-License-Identifier: Apache-2.0

local stack = require("lib.stack")

describe("lib.stack: the size of a variable member", function ()
  it("is what the header's length field can tell, at most", function ()
    for _, case in ipairs{
      {"ip4", 40, 44, "options of ip4: 44 bytes; its HeaderLength allows 40 at most"},
      {"geneve", 252, 256,
        "options of geneve: 256 bytes; its OptionsLength allows 252 at most"},
      {"bfd", 231, 232,
        "authSection of bfd: 232 bytes; its Length allows 231 at most"},
    } do
      local name, most, more, sentence = unpack(case)
      assert.is_truthy(stack.createStack{name, length = most})
      local ok, err = pcall(stack.createStack, {name, length = more})
      assert.is_false(ok)
      assert.equal("createStack: " .. sentence, err)
    end
  end)
end)
