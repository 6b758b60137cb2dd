-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local ipfix = require("lib.stack.body.ipfix")

local function hex(set)
  local buffer = ffi.new("uint8_t[2048]")
  local size = ipfix:copyTo(buffer, 0, set, 2048)
  return (ffi.string(buffer, size):gsub(".", function (c)
    return ("%02x"):format(c:byte())
  end))
end

local function spaceless(text) return (text:gsub("%s", "")) end

-- The flow records of RFC 7011, appendix A.3.
local RECORDS = {
  {0xc000020c, 0xc00002fe, 0xc0000201, 5009, 5344385},
  {0xc000021b, 0xc0000217, 0xc0000202, 748, 388934},
  {0xc0000238, 0xc0000241, 0xc0000203, 5, 6534},
}

local function flow_template()
  local template = {}
  for i, id in ipairs{8, 12, 15, 2, 1} do
    local record = 0
    template[i] = {id = id, length = 4, value = function ()
      record = record + 1
      return RECORDS[record][i]
    end}
  end
  return template
end

describe("lib.stack.body.ipfix", function ()
  it("makes the template set of RFC 7011, appendix A.2.1", function ()
    assert.equal(spaceless[[0002 001c 0100 0005
      0008 0004 000c 0004 000f 0004 0002 0004 0001 0004]],
      hex(ipfix:createTmplSet(256, flow_template())))
  end)

  it("makes the data set of RFC 7011, appendix A.3", function ()
    local template = flow_template()
    local length = ipfix:getRecordLength(template)
    assert.equal(20, length)
    assert.equal(spaceless[[0100 0040
      c000020c c00002fe c0000201 00001391 00518c81
      c000021b c0000217 c0000202 000002ec 0005ef46
      c0000238 c0000241 c0000203 00000005 00001986]],
      hex(ipfix:createDataSet(256, template, length, 3)))
  end)

  it("makes the options template set of RFC 7011, appendix A.4.1", function ()
    assert.equal(spaceless[[0003 0018 0102 0003 0001
      008d 0004 0029 0002 002a 0002 0000]], hex(ipfix:createOptsTmplSet(258,
      {{id = 141, length = 4}, {id = 41, length = 2}, {id = 42, length = 2}})))
  end)

  it("marks an element of an enterprise", function ()
    assert.equal("\128\1\0\8\0\0\114\121",
      ipfix:createInformationElement(1, 8, 29305))
  end)

  it("writes values of any width, and strings", function ()
    local values = {-2, 2^40 + 1, 0xfffffffffffffffeULL, "\1\2\3\4\5\6\7\8\9"}
    local template = {}
    for i, length in ipairs{1, 6, 8, 9} do
      template[i] = {id = i, length = length, value = function () return values[i] end}
    end
    assert.equal("0100001cfe010000000001fffffffffffffffe010203040506070809",
      hex(ipfix:createDataSet(256, template, 24, 1)))
  end)

  it("keeps libmoon's members, in network order", function ()
    local set = ipfix:createTmplSet(256, flow_template())
    assert.equal(0x1c00, set.set_header.length)
    assert.equal(0x0200, set.set_header.set_id)
  end)

  it("puts sets behind each other, and not past the room given", function ()
    local buffer = ffi.new("uint8_t[60]")
    local set = ipfix:createTmplSet(256, flow_template())
    local at = ipfix:copyTo(buffer, 3, set, 60)
    assert.equal(31, at)
    assert.equal(59, ipfix:copyTo(buffer, at, set, 59))
    assert.is_nil(ipfix:copyTo(buffer, at + 2, set, 60))
    assert.equal(0, buffer[59])
    assert.equal(0, buffer[2])
    assert.equal(2, buffer[32])
  end)

  it("says what is wrong", function ()
    local function refuses(sentence, method, ...)
      local ok, err = pcall(ipfix[method], ipfix, ...)
      assert.is_false(ok)
      assert.equal(sentence, tostring(err))
    end
    refuses("a template's id is 255, which isn't a whole number from 256 to 65535",
      "createTmplSet", 255, {})
    refuses("an information element's length is 0, which isn't a whole number from "
      .. "1 to 65535", "createInformationElement", 1, 0)
    refuses("a record of this template has 20 bytes, not 10",
      "createDataSet", 256, flow_template(), 10, 1)
    local long = {{id = 1, length = 40000, value = function ()
      return ("x"):rep(40000)
    end}}
    refuses("an IPFIX set of 80004 bytes is longer than 65535",
      "createDataSet", 256, long, 40000, 2)
    long[1].value = function () return 1 end
    refuses("information element 1 has 40000 bytes: its value must be a string",
      "createDataSet", 256, long, 40000, 1)
    long[1].value = function () return "x" end
    refuses("the value of information element 1 has 1 bytes, not 40000",
      "createDataSet", 256, long, 40000, 1)
  end)
end)
