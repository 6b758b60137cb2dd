-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.support")

-- What `perigee test` says of a spec file with this code, and its exit status.
local function test(code)
  local base = os.tmpname()
  local name = base .. "_spec.lua"
  local file = assert(io.open(name, "w"))
  file:write(code)
  file:close()
  local said, status = testing.perigee{"test", name}
  os.remove(base)
  os.remove(name)
  return said, status
end

describe("test", function ()
  it("runs specs inside the runtime, with packets", function ()
    local said, status = test([[
      it("has packets", function ()
        local p = packet.from_string("abc")
        assert.equal(3, p.length)
        packet.free(p)
      end)]])
    assert.matches("1 success / 0 failures / 0 errors", said)
    assert.equal(0, status)
  end)

  it("ends with status 1 when one fails, or can't be read", function ()
    local said, status = test("it('fails', function () assert.equal(1, 2) end)")
    assert.matches("1 failure", said)
    assert.equal(1, status)
    said, status = test("it('breaks', function () error('boom') end)")
    assert.matches("boom", said)
    assert.equal(1, status)
    assert.equal(1, select(2, test("this isn't Lua")))
    assert.equal(1, select(2, testing.perigee{"test", "/no/such_spec.lua"}))
  end)

  it("stops the apps that a spec left running", function ()
    local said, status = test([[
      it("starts an app", function ()
        local c = config.new()
        local app = {stop = function () io.stderr:write("stopped\n") end}
        config.app(c, "a", {new = function () return app end})
        engine.configure(c)
      end)]])
    assert.matches("stopped\n", said)
    assert.equal(0, status)
  end)
end)
