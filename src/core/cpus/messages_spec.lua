-- SPDX-License-Identifier: Apache-2.0
-- Classes and arguments on their way to another Lua state.

local ffi = require("ffi")
local basic = require("apps.basic.basic_apps")
local messages = require("core.cpus.messages")

local function there_and_back(value)
  local sent = messages.encode(messages.argument("a", value))
  return messages.received(messages.decode(sent))
end

describe("core.cpus.messages", function ()
  it("sends plain data as it is", function ()
    for _, value in ipairs{1, "x", false, {1, 2, {a = "b", [3] = true}}, {}} do
      assert.same(value, there_and_back(value))
    end
    assert.is_nil(there_and_back(nil))
    assert.equal(2 ^ 63, tonumber(there_and_back(2ULL ^ 63)))
  end)

  it("sends arrays in C memory by their bytes", function ()
    local mac = ffi.new("uint8_t[6]", {1, 2, 3, 4, 5, 255})
    local got = there_and_back{mac = mac}.mac
    assert.equal(6, ffi.sizeof(got))
    assert.equal(ffi.string(mac, 6), ffi.string(got, 6))
  end)

  it("names what can't be sent", function ()
    local cyclic = {}
    cyclic.inner = {cyclic}
    for path, case in pairs{
      [""] = {print, "a function"},
      ["'s field f"] = {{f = print}, "a function"},
      ["'s field rules[2].match"] = {{rules = {1, {match = print}}}, "a function"},
      ["'s field out"] = {{out = io.stdout}, "a file"},
      ["'s field t"] = {{t = coroutine.create(print)}, "a thread"},
      ["'s field inner[1]"] = {cyclic, "a table that contains itself"},
      ["'s field o"] = {{o = setmetatable({}, {})}, "an object with a metatable"},
      ["'s field p"] = {{p = ffi.new("void *")}, "C data, ctype<void *>"},
    } do
      local ok, err = pcall(messages.argument, "nat", case[1])
      assert.is_false(ok)
      assert.equal(("app 'nat' can't run on a CPU of its own: its argument%s is %s, "
        .. "which can't be sent to another Lua state"):format(path, case[2]),
        tostring(err))
      assert.equal(2, err.status)
    end
  end)

  it("finds classes by module and name", function ()
    local at = messages.class("sink", basic.Sink)
    assert.same({module = "apps.basic.basic_apps", field = "Sink"}, at)
    assert.equal(basic.Sink, messages.find_class(at))
    assert.error_matches(function () messages.class("mine", {new = print}) end,
      "app 'mine' can't run on a CPU of its own: its class is in no module")
  end)
end)
