-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local exchange = require("lib.exchange")

describe("lib.exchange", function ()
  it("exchanges so many bytes and no more", function ()
    local bytes = ffi.new("char[40]", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.")
    exchange(bytes, bytes + 17, 16)
    assert.equal("bbbbbbbbbbbbbbbb.aaaaaaaaaaaaaaaa.", ffi.string(bytes))
    exchange(bytes, bytes + 17, 4)
    assert.equal("aaaabbbbbbbbbbbb.bbbbaaaaaaaaaaaa.", ffi.string(bytes))
  end)
end)
