-- SPDX-License-Identifier: Apache-2.0
-- TCP's options against literal bytes.

local ffi = require("ffi")
local packet = require("core.packet")
local stack = require("lib.stack")

describe("TCP options", function()
  local p, tcp
  before_each(function()
    p = packet.allocate()
    ffi.fill(p.data, 128, 0xee)
  end)
  after_each(function() packet.free(p) end)

  local function with(length)
    local pkt = stack.createStack("eth", "ip4", {"tcp", length = length})(p)
    p.length = 0
    pkt:fill{}
    tcp = pkt.tcp
    return tcp
  end

  local function bytes(length)
    return (ffi.string(p.data + 54, length):gsub(".", function(c)
      return ("%02x"):format(c:byte())
    end))
  end

  it("are written one after the other", function()
    with(24)
    local offset = tcp:setMssOption(0, 1460)
    offset = tcp:setSackPermittedOption(offset)
    offset = tcp:setTSOption(offset, 0xfedcba98, 1)
    offset = tcp:setNopOption(offset)
    offset = tcp:setWSOption(offset, 7)
    assert.equal(20, offset)
    assert.equal(24, tcp:fillOptions(offset))
    assert.equal("020405b4" .. "0402" .. "080afedcba9800000001" .. "01" .. "030307"
      .. "01010100" .. "ee", bytes(25))
    assert.equal("mss 1460,sackOK,TS val 4275878552 ecr 1,nop,wscale 7,nop,nop,nop,eol",
      tcp:getOptionsString())
    assert.equal(1460, tcp:getMssOption())
    assert.equal(7, tcp:getWSOption(17))
    assert.is_nil(tcp:getWSOption(0))
    assert.equal("wscale 7", tcp:getWSOptionString())
    assert.equal("mss 1460", tcp:getMssOptionString(0))
    assert.is_nil(tcp:getTSOptionString(0))
    assert.same({tsval = 0xfedcba98, tsecr = 1}, tcp:getTSOption())
  end)

  it("aren't written where there is no room for them", function()
    with(8)
    assert.equal(4, tcp:setMssOption(0, 536))
    for _, write in ipairs{
      function() tcp:setTSOption(0, 1, 2) end, function() tcp:setMssOption(5, 1) end,
      function() tcp:setNopOption(8) end, function() tcp:setEolOption(-1) end,
    } do
      local ok, message = pcall(write)
      assert.is_false(ok)
      assert.truthy(tostring(message):find("the header holds 8 bytes of options"))
    end
    assert.equal("02040218", bytes(4))
    assert.equal("ee", bytes(9):sub(17))
  end)

  it("are read as far as they are whole", function()
    with(8)
    ffi.copy(p.data + 54, "\1\2\4\5\180\8\10\255", 8) -- timestamps reach behind the end
    assert.equal("nop,mss 1460,option 8: wrong length", tcp:getOptionsString())
    assert.is_nil(tcp:getTSOption())
    ffi.copy(p.data + 54, "\254\3\1\3\1\5\0\0", 8) -- a length below 2
    assert.equal("option 254 of 3 bytes,option 3: wrong length", tcp:getOptionsString())
    ffi.copy(p.data + 54, "\1\1\1\1\1\1\1\2", 8) -- no room for a length
    assert.equal("wrong length", tcp:getOptions()[8].error)
    tcp:setDataOffset(3)
    assert.equal(0, tcp:getOptionsLength())
    assert.same({}, tcp:getOptions())
  end)
end)
