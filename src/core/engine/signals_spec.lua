-- SPDX-License-Identifier: Apache-2.0

local engine = require("core.app")
local signal = require("posix.signal")
local unistd = require("posix.unistd")

describe("the option on_signal of engine.main", function ()
  local function send(name) signal.kill(unistd.getpid(), signal["SIG" .. name]) end

  it("calls a function between breaths, each time, and goes on", function ()
    local came, done = {}, false
    engine.main{no_report = true, done = function ()
      if #came == 0 then send("HUP") end
      return done
    end, on_signal = {
      HUP = function ()
        assert.has_no_error(engine.breathe)
        came[#came + 1] = "HUP"
        send(#came < 3 and "HUP" or "USR1")
      end,
      USR1 = function ()
        came[#came + 1] = "USR1"
        done = true
      end,
    }}
    assert.same({"HUP", "HUP", "HUP", "USR1"}, came)
    assert.is_false(engine.interrupted)
    send("HUP") -- it is ignored until the next run, and so is USR1
    send("USR1")
  end)

  it("knows the signals there are", function ()
    local ok, err = pcall(engine.main, {on_signal = {INT = print}})
    assert.is_false(ok)
    assert.matches("on_signal takes HUP, USR1 and USR2, not 'INT'", err, 1, true)
  end)
end)
