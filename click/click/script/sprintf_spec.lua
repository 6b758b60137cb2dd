-- SPDX-License-Identifier: Apache-2.0
local sprintf = require("click.script.sprintf")

describe("sprintf of scripts", function ()
  it("formats integers and text", function ()
    for line in ([[
      "%05x" 127 => 0007f
      %d -5 => -5
      "%5d|%-5d|%+d" 1 2 3 =>     1|2    |+3
      "%*d" 4 7 =>    7
      "%.3d" 7 => 007
      "%.*d" 3 7 => 007
      %hd 65537 => 1
      %hu 65537 => 1
      %u 18446744073709551615 => 18446744073709551615
      %lld -9223372036854775808 => -9223372036854775808
      %X 255 => FF
      "%s-%.2s" abc "def" => abc-de
      "100%%" => 100%
      "plain" => plain
    ]]):gmatch("[^\n]*=>[^\n]*") do
      local argument, result = line:match("^%s*(.-) => (.*)$")
      assert.equal(result, (sprintf(argument)), line)
    end
  end)

  it("refuses what doesn't fit", function ()
    for _, argument in ipairs {"%d", "%d x", "%d 1 2", "%q 1", "%", '"%*d" x 1', "%s",
        "%99999d 1", "%u -1", "%f 1", '"%.*d" -1 7', "%*5d 1 1", "%*5d 1",
        "%.*5d 1", "%*5s x"} do
      local result, problem = sprintf(argument)
      assert.is_nil(result, argument)
      assert.equal("syntax error", problem)
    end
  end)
end)
