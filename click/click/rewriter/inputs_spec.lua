-- SPDX-License-Identifier: Apache-2.0
local inputs = require("click.rewriter.inputs")

local mapper = {map_flow = function () end}
local element = {
  name = "rw", noutputs = 2,
  router = {find = function (_, name)
    return ({m = mapper, other = {}})[name]
  end},
}

describe("a rewriter's input", function ()
  it("is one of several kinds", function ()
    assert.equal("drop", inputs.parse("drop", element).kind)
    assert.equal("drop", inputs.parse("discard", element).kind)
    assert.equal(1, inputs.parse("pass 1", element).forward)
    assert.equal(0, inputs.parse("nochange", element).forward)
    local keep = inputs.parse("keep 0 1", element)
    assert.same({"keep", 0, 1}, {keep.kind, keep.forward, keep.reply})
    assert.equal(mapper, inputs.parse("m", element).mapper)
    local pattern = inputs.parse("pattern 1.0.0.1 5 - - 1 0", element)
    assert.same({1, 0, "1.0.0.1 5 - - [3]\n"},
      {pattern.forward, pattern.reply, inputs.text(pattern, 3)})
    assert.equal("<drop>\n", inputs.text({kind = "drop"}, 0))
  end)

  it("is refused in Click's words", function ()
    for text, wanted in pairs{
      [""] = "empty argument", ["x"] = "unknown specification",
      ["other"] = "element is not an IPMapper",
      ["m 1"] = "syntax error, expected element name",
      ["drop 1"] = "syntax error, expected 'drop'",
      ["pass x"] = "syntax error, expected 'nochange [OUTPUT]'",
      ["pass 2"] = "output port out of range",
      ["keep 0 2"] = "output port out of range",
      ["keep 0"] = "bad forward port", ["keep 0 x"] = "bad reply port",
      ["pattern 1.0.0.1 5 - - 0 2"] = "output port out of range",
      ["pattern 1.0.0.x 5 - - 0 1"] = "bad source address",
      ["pattern 1.0.0.1 5"] = "syntax error",
    } do
      assert.same({nil, wanted}, {inputs.parse(text, element)})
    end
  end)
end)
