-- SPDX-License-Identifier: Apache-2.0

local process = require("core.lib.process")
local testing = require("testing.support")
local unistd = require("posix.unistd")

local function snsh(...)
  return testing.perigee{"snsh", ...}
end

-- A directory with the file t.lua that holds `code`; its path.
local function tree_with(code)
  local dir = os.tmpname()
  os.remove(dir)
  assert(process.succeeds("mkdir " .. dir))
  local file = assert(io.open(dir .. "/t.lua", "w"))
  file:write(code)
  file:close()
  return dir
end

local function remove(dir)
  os.remove(dir .. "/t.lua")
  unistd.rmdir(dir)
end

-- What the shell prints for these lines, and its exit status.
local function type_in(text)
  local name = testing.temporary(text)
  local perigee = assert(unistd.readlink("/proc/self/exe"))
  local pipe = io.popen(("timeout 600 %s snsh <%s 2>&1; echo $?"):format(perigee, name))
  local said = pipe:read("*a")
  pipe:close()
  os.remove(name)
  return said
end

describe("snsh -p, -d and -q", function ()
  it("run a program with the rest as its arguments, with debugging", function ()
    local dir = tree_with("")
    os.execute(("mkdir -p %s/program/say"):format(dir))
    local file = assert(io.open(dir .. "/program/say/say.lua", "w"))
    file:write("return {run = function (args) "
      .. "print(developer_debug, unpack(args)) end}")
    file:close()
    local said, status = testing.perigee{"-p", dir, "snsh", "-d", "-p", "say", "a",
      "-b"}
    assert.equal("true\ta\t-b\n", said)
    assert.equal(0, status)
    os.execute("rm -r " .. dir)
  end)

  it("say which program or action there isn't", function ()
    local said, status = snsh("--program", "nosuch")
    assert.equal(2, status)
    assert.matches("--program nosuch: there is no such program", said, 1, true)
    said, status = snsh("-q", "core", "-e", "1")
    assert.equal(2, status)
    assert.matches("--sigquit=core: the one action there is is 'repl'", said, 1, true)
  end)

  it("open a shell on SIGQUIT, and go on when it ends", function ()
    local perigee = assert(unistd.readlink("/proc/self/exe"))
    local pipe = io.popen(([[echo 'print("in the shell"); done = true' | timeout 99 %s \
      snsh -q repl -e 'rawset(_G, "done", false); os.execute("kill -QUIT $PPID")
        engine.main{done = function () return done end, no_report = true}
        print("over")' 2>&1]]):format(perigee))
    assert.matches("SIGQUIT.*in the shell\n.*over\n$", pipe:read("*a"))
    pipe:close()
  end)
end)

describe("snsh -e", function ()
  it("runs statements and expressions, in order", function ()
    local said, status = snsh("-e", "print(1)", "--eval", "x = 2", "-e", "print(x)",
      "-e", "1 + 1", "-e", "local y = 3; print(y)")
    assert.equal("1\n2\n3\n", said)
    assert.equal(0, status)
  end)

  it("has the globals of a program", function ()
    for _, name in ipairs{"config", "engine", "link", "main", "memory", "packet",
                          "timer"} do
      assert.equal("table\n", (snsh("-e", ("print(type(%s))"):format(name))))
    end
  end)

  it("tells what can't be compiled or run, and where", function ()
    local said, status = snsh("-e", "x =")
    assert.equal(2, status)
    assert.matches("^perigee: can't evaluate 'x =': %-e:1: unexpected symbol", said)
    said, status = snsh("-e", "print(1)\nerror('boom')", "-e", "print(2)")
    assert.equal(1, status)
    assert.matches("^1\nperigee: %-e:2: boom\nstack traceback:", said)
    assert.not_matches("\n2\n", said)
  end)
end)

describe("snsh -t", function ()
  it("runs selftest(); its exit status is that of the test", function ()
    local dir = tree_with("return {selftest = function () print('tested') end}")
    local said, status = snsh("-P", dir .. "/?.lua", "-t", "t")
    assert.equal("tested\n", said)
    assert.equal(0, status)
    remove(dir)
    dir = tree_with("return {selftest = function () "
      .. "main.exit(engine.test_skipped_code) end}")
    assert.equal(43, select(2, snsh("-P", dir .. "/?.lua", "-t", "t")))
    remove(dir)
    dir = tree_with("return {selftest = function () assert(false, 'wrong') end}")
    said, status = snsh("-P", dir .. "/?.lua", "-t", "t")
    assert.matches("wrong", said)
    assert.equal(1, status)
    remove(dir)
  end)

  it("takes modules in Snabb's way", function ()
    local dir = tree_with("module(..., package.seeall)\n"
      .. "function selftest() print(_NAME, packet.max_payload) end")
    assert.equal("t\t10240\n", (snsh("-P", dir .. "/?.lua", "-t", "t")))
    remove(dir)
  end)

  it("says in one line what is missing", function ()
    local said, status = snsh("-t", "core.nothing")
    assert.equal("perigee: can't test 'core.nothing': module 'core.nothing' not "
      .. "found\n", said)
    assert.equal(2, status)
    said, status = snsh("-t", "core.config")
    assert.equal("perigee: can't test 'core.config': it has no selftest()\n", said)
    assert.equal(2, status)
  end)
end)

describe("snsh -l", function ()
  it("requires a module into a global", function ()
    assert.equal("table\n", (snsh("-l", "core.lib", "-e", "print(type(lib))")))
  end)
end)

describe("snsh FILE", function ()
  it("leaves what follows the file to the script", function ()
    local dir = tree_with("print(...) print(unpack(main.parameters)) print(arg[1])")
    local said, status = snsh("-e", "print(0)", dir .. "/t.lua", "-e", "a", "--help",
      "-x", "3")
    assert.equal("0\n-e\ta\t--help\t-x\t3\n-e\ta\t--help\t-x\t3\n-e\n", said)
    assert.equal(0, status)
    assert.equal("-z\n-z\n-z\n", (snsh("--", dir .. "/t.lua", "-z")))
    remove(dir)
  end)

  it("that can't be read is a usage error", function ()
    local said, status = snsh("/no/such/file.lua")
    assert.matches("^perigee: can't run /no/such/file.lua: ", said)
    assert.equal(2, status)
  end)
end)

describe("the shell", function ()
  it("reads on until a statement is whole, and prints values", function ()
    local said = type_in("=1+1\nfor i = 1, 2 do\nprint('i', i)\nend\n"
      .. "return 1, nil, 3\n")
    assert.matches("> 2\n", said)
    assert.matches("i\t1\ni\t2\n", said)
    assert.matches("> 1\tnil\t3\n", said)
    assert.matches("0\n$", said)
  end)

  it("goes on after an error", function ()
    local said = type_in("error('one')\n) bad\nundefined_name\nprint('still here')\n")
    assert.matches("one", said)
    assert.matches("unexpected symbol", said)
    assert.matches("undefined_name", said)
    assert.matches("still here\n", said)
    assert.matches("0\n$", said)
  end)
end)

describe("unknown options", function ()
  it("are usage errors", function ()
    local said, status = snsh("--nope")
    assert.matches("^perigee: unknown option '%-%-nope'.*see `perigee snsh %-%-help`",
      said)
    assert.equal(2, status)
  end)
end)
