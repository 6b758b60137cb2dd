-- SPDX-License-Identifier: Apache-2.0

local testing = require("testing.support")

describe("run", function ()
  it("gives the file its arguments, options too", function ()
    local said, status = testing.script("print(...) print(#main.parameters, arg[3])",
      {}, {"a", "--help", "-x"})
    assert.equal("a\t--help\t-x\n3\t-x\n", said)
    assert.equal(0, status)
  end)

  it("finds modules beside the file, whatever the working directory", function ()
    local folder = require("posix.stdlib").mkdtemp("/tmp/perigee-run-XXXXXX")
    local function write(name, text)
      local file = assert(io.open(folder .. "/" .. name, "w"))
      file:write(text)
      file:close()
    end
    write("beside.lua", "return {word = 'beside'}")
    write("main.lua", [[
      require("posix.unistd").chdir("/")
      print(require("beside").word)]])
    local said, status = testing.perigee{"run", folder .. "/main.lua"}
    require("pl.dir").rmtree(folder)
    assert.equal("beside\n", said)
    assert.equal(0, status)
  end)

  it("calls run() of the table that the file returns", function ()
    assert.equal("run\tb\n", (testing.script(
      "return {run = function (args) print('run', args[1]) end}", {}, {"b"})))
  end)

  it("ends with the status of main.exit, and stops apps first", function ()
    local said, status = testing.script([[
      local c = config.new()
      local app = {stop = function () print("stopped") end}
      config.app(c, "a", {new = function () return app end})
      engine.configure(c)
      main.exit(7)]])
    assert.equal("stopped\n", said)
    assert.equal(7, status)
  end)

  it("tells what is wrong with the file", function ()
    local said, status = testing.script("x = = 1")
    assert.matches("^perigee: can't run /tmp/.*:1: unexpected symbol near '='\n$", said)
    assert.equal(2, status)
    said, status = testing.script("error('a bug')")
    assert.matches("^perigee: /tmp/.*:1: a bug\nstack traceback:", said)
    assert.equal(1, status)
    said, status = testing.perigee{"run", "/no/such/file.lua"}
    assert.matches("^perigee: can't run /no/such/file.lua: ", said)
    assert.equal(2, status)
    said, status = testing.perigee{"run"}
    assert.matches("^perigee: run needs a file", said)
    assert.equal(2, status)
  end)

  it("asserts with any message, or none", function ()
    for message, said in pairs{["assert(false)"] = "assertion failed!",
        ["assert(nil, 42)"] = "42", ["assert(false, {})"] = "table: ",
        ["print(assert(1, 'a', nil, 3))"] = "^1\ta\tnil\t3\n$"} do
      assert.matches(said, (testing.script(message)))
    end
  end)

  it("has Snabb's strict globals", function ()
    local said, status = testing.script("local function f() misspelt = 1 end f()")
    assert.matches("misspelt", said)
    assert.equal(1, status)
  end)
end)
