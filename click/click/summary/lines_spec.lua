-- SPDX-License-Identifier: Apache-2.0
local Lines = require("click.summary.lines")

describe("the lines of a summary dump", function ()
  local function second(bytes)
    local lines = Lines.of_text("!binary\n" .. bytes)
    lines:next()
    lines.binary = true
    return lines:next()
  end

  it("are binary records behind !binary", function ()
    assert.same({"abc", true}, {second("\0\0\0\7abc")})
    assert.same({"abc", false}, {second("\128\0\0\7abc")})
    assert.is_nil((second("\0\0\0\7ab")))
  end)

  it("have no records of impossible lengths", function ()
    assert.same({nil, "binary record too short"}, {second("\0\0\0\3abc")})
    assert.same({nil, "binary record too long"}, {second("\255\255\255\255abc")})
    assert.same({nil, "binary record too long"}, {second("\127\255\255\255abc")})
  end)
end)
