-- SPDX-License-Identifier: Apache-2.0
-- Payloads as text, in hexadecimal, and from files.

local payload = require("lib.traffic.payload")
local testing = require("testing.support")

describe("lib.traffic.payload", function ()
  it("takes text, hexadecimal digits, and files", function ()
    assert.equal("GET / HTTP/1.1", payload.parse("GET / HTTP/1.1"))
    assert.equal("hex:00", payload.parse("text:hex:00"))
    assert.equal("\202\254\1", payload.parse("hex:cafe01"))
    assert.equal("\202\254\1", payload.parse("hex:CA:fe 01"))
    local name = testing.temporary("\0\1\nx")
    assert.equal("\0\1\nx", payload.parse("file:" .. name))
    os.remove(name)
  end)

  it("says what is wrong", function ()
    local function refused(text, reason)
      local bytes, problem = payload.parse(text)
      assert.is_nil(bytes)
      assert.truthy(problem:find(reason, 1, true), problem)
    end
    refused("", "'' has no bytes")
    refused("file:/dev/null", "'file:/dev/null' has no bytes")
    refused("hex:", "two hexadecimal digits a byte")
    refused("hex:abc", "not 'abc'")
    refused("hex:0g", "not '0g'")
    refused("file:/no/such", "can't open /no/such: No such file or directory")
    refused("file:/proc", "can't read /proc: Is a directory")
    refused("file:/dev/zero", "at most 10240 bytes; 'file:/dev/zero' has more")
    refused(("x"):rep(10241), "at most 10240 bytes; 'xxxxx")
  end)
end)
