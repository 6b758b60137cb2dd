-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")

local function config_after(text, ...)
  local r = assert(click.router("Idle -> e :: " .. text .. " -> Idle"))
  local ok, problem = r:handler_write(...)
  local value = r:handler_read("e.config")
  r:close()
  return ok and value or problem
end

describe("A running element", function ()
  it("takes another configuration", function ()
    assert.equal("5", config_after("CheckLength(3)", "e.config", "5"))
    assert.equal("LENGTH 5", config_after("CheckLength(3)", "e.config", "LENGTH 5"))
    assert.equal("LENGTH: invalid number",
      config_after("CheckLength(3)", "e.config", "x"))
    assert.equal("no 'e.config' write handler",
      config_after("Strip(3)", "e.config", "5"))
  end)

  it("takes one argument of it", function ()
    assert.equal("5", config_after("CheckLength(3)", "e.length", "5"))
    assert.equal("5, EXTRA_LENGTH true",
      config_after("CheckLength(3, EXTRA_LENGTH true)", "e.length", "5"))
    assert.equal("EXTRA_LENGTH true, LENGTH 5",
      config_after("CheckLength(EXTRA_LENGTH true, LENGTH 3)", "e.length", "5"))
    assert.equal("CAPACITY 10",
      config_after("Queue -> Strip(1)", "e.capacity", "10"))
  end)

  it("stays as it was if that is wrong", function ()
    local r = assert(click.router("Idle -> q :: Queue(7) -> Idle"))
    assert.is_false((r:handler_write("q.capacity", "x")))
    assert.equal("7", (r:handler_read("q.capacity")))
    assert.equal("7", (r:handler_read("q.config")))
    r:close()
  end)
end)
