-- SPDX-License-Identifier: Apache-2.0
local explained = require("core.lib.luajit_errors").explained
local packet = require("core.packet")

-- What LuaJIT says of f(), explained.
local function said(f)
  local ok, err = pcall(f)
  assert.is_false(ok)
  return explained(err):gsub("^[^ ]*: ", "")
end

describe("a value that a C field doesn't take", function ()
  it("is named in plain words", function ()
    local p = packet.allocate()
    local short = "a field or argument of C takes a number from 0 to 65535, not "
    for _, value in ipairs{"x", {}, print} do
      local kind = type(value)
      assert.equal(short .. "a " .. kind, said(function () p.length = value end))
    end
    assert.equal(short .. "nil", said(function () p.length = nil end))
    assert.equal("a field or argument of C takes a number from 0 to 4294967295, not a "
      .. "string", said(function () p.pkt_len = "x" end))
    assert.equal("a field or argument of C takes a number of 64 bits, not a string",
      said(function () p.udata64 = "x" end))
    assert.equal("a field or argument of C takes a number from 0 to 255, not a table",
      said(function () p.data[0] = {} end))
    packet.free(p)
  end)

  it("leaves other errors", function ()
    for _, text in ipairs{"a.lua:1: cannot convert 'int' to 'struct packet *'",
                          "a.lua:1: cannot convert 'string' to 'char *'", "x", ""} do
      assert.equal(text, explained(text))
    end
  end)
end)

describe("a module that isn't found", function ()
  it("is named without all places that were looked at", function ()
    local ok, err = pcall(require, "no.such.module")
    assert.is_false(ok)
    assert.equal("there is no module 'no.such.module'", explained(err))
    assert.equal("there is no module 'no.such.module': look here",
      explained(err, ": look here"))
    assert.equal("x: there is no module 'no.such.module'\nstack traceback:\n\tx",
      explained("x: " .. err .. "\nstack traceback:\n\tx"))
    local other = "'x' not found: no file 'y'"
    assert.equal(other, explained(other))
  end)
end)
