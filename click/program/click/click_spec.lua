-- SPDX-License-Identifier: Apache-2.0
local click = require("program.click.click")
local ps = require("program.ps.ps")

describe("what `perigee ps` calls a click", function ()
  it("has the file's name, or how the expression begins", function ()
    assert.equal("click a.click", click.title{"-R", "a.click"})
    assert.equal("click -e Idle -> Discard", click.title{"-e", " Idle\n\t-> Discard\n"})
    assert.equal("click -e " .. ("x"):rep(37) .. "...", click.title{"-e",
      ("x"):rep(99)})
    assert.equal("click -e " .. ("x"):rep(40), click.title{"-e", ("x"):rep(40)})
    assert.equal("click ", click.title{"--no-such-option"})
  end)

  it("makes room for it", function ()
    local lines = ps.text{
      {pid = 1, program = "echo", load = 0, uptime = 0},
      {pid = 2, program = "click -e Idle -> Discard", name = "b", load = 0,
        uptime = 0}}
    assert.equal("PID      PROGRAM                  NAME                    CPU"
      .. "   UPTIME  CONTROL\n"
      .. "1        echo                     -                        0%       0s  -\n"
      .. "2        click -e Idle -> Discard b                        0%       0s  -\n",
      lines)
  end)
end)
