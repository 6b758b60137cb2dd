-- SPDX-License-Identifier: Apache-2.0

local strict = require("lib.lua.strict")

-- Run `code` as a chunk from the file `source`, with the globals `env`.
local function run(env, code, source)
  local chunk = assert(loadstring(code, source or "@program.lua"))
  return pcall(setfenv(chunk, env))
end

describe("strict", function()
  local env
  before_each(function()
    env = {print = print, rawget = rawget, rawset = rawset, pcall = pcall}
    env._G = env
    strict.enable(env)
  end)

  it("lets a main chunk declare, even nil, and all use it", function()
    assert.is_true(run(env, "a = 1; b = nil"))
    assert.same({true, 1}, {run(env, "return (function() return a end)()")})
    assert.same({true}, {run(env, "return (function() return b end)()")})
    assert.is_true(run(env, "(function() a, b = 2, 3 end)()"))
    assert.same({2, 3}, {env.a, env.b})
  end)

  it("refuses to read what isn't declared, and says where", function()
    local ok, err = run(env, "\nreturn typo")
    assert.is_false(ok)
    assert.equal("program.lua:2: the global 'typo' is not declared", err)
    assert.is_false(run(env, "return (function() return typo end)()"))
    assert.is_false(run(env, "typo()"))
  end)

  it("refuses to declare inside a function", function()
    local ok, err = run(env, "local function f()\n leak = 1\nend\nf()")
    assert.is_false(ok)
    assert.equal("program.lua:2: assignment to the undeclared global 'leak'", err)
    assert.is_nil(rawget(env, "leak"))
  end)

  it("isn't for system libraries and C", function()
    for _, source in ipairs {
      "@/usr/share/lua/5.1/lib.lua", "@/usr/local/share/lua/5.1/lib.lua",
      "@/usr/share/luajit-2.1.0-beta3/jit/dump.lua",
    } do
      assert.is_true(run(env, "return (function() return absent end)()", source))
      assert.is_true(run(env, "(function() present = 1 end)()", source))
    end
    assert.is_false(run(env, "return absent", "@/home/usr/share/lua/lib.lua"))
    assert.same({true, nil}, {pcall(next, env, nil) and true})
  end)

  it("leaves rawget and rawset alone", function()
    assert.same({true}, {run(env, "return (rawget(_G, 'absent'))")})
    assert.is_true(run(env, "(function() rawset(_G, 'set', 5) end)()"))
    assert.same({true, 5}, {run(env, "return set")})
  end)

  it("holds for modules that inherit the globals", function()
    local module_env = setmetatable({}, {__index = env})
    local ok, err = run(module_env, "function f() return typo end; return f()")
    assert.is_false(ok)
    assert.matches("'typo' is not declared", err)
    assert.is_true(run(module_env, "(function() own = 1 end)(); return own"))
    assert.equal(1, module_env.own)
  end)

  it("can be enabled again without forgetting", function()
    run(env, "a = nil")
    strict.enable(env)
    assert.is_true(run(env, "return a"))
  end)

  it("lets `module` and system libraries work in the real globals", function()
    -- loadstring, because busted gives specs globals of their own.
    local program = assert(loadstring [[
      package.loaded.argparse = nil
      require("lib.lua.strict").enable()
      local function load() module("strict_spec_module.part", package.seeall) end
      load()
      assert(type(strict_spec_module.part) == "table")
      assert(not pcall(function() return no_such_global end))
      require("argparse")
    ]])
    local unistd = require("posix.unistd")
    local pid = unistd.fork()
    if pid == 0 then
      local ok, err = pcall(program)
      if not ok then io.stderr:write(tostring(err), "\n") end
      unistd._exit(ok and 0 or 1)
    end
    local _, _, status = require("posix.sys.wait").wait(pid)
    assert.equal(0, status)
  end)
end)
