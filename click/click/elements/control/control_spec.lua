-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local click_router = require("testing.click_router")
local output = require("click.script.output")
local sockets = require("lib.sockets")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local function problem_of(config)
  local _, text = click_router.make(config)
  return text and text:match("\n  (.-)\n")
end

describe("HandlerAggregate", function ()
  it("adds up what handlers say, and writes to all", function ()
    local r = click_router.run("InfiniteSource(LIMIT 3) -> a :: Counter -> Discard;"
      .. "InfiniteSource(LIMIT 5, STOP true) -> b :: Counter -> Discard;"
      .. "h :: HandlerAggregate(ELEMENT a, ELEMENT b); DriverManager(pause, wait 1)")
    assert.equal("8", r:handler_read("h.add count"))
    assert.equal("4", r:handler_read("h.avg count"))
    assert.same({nil, "no 'nothing' read handler"}, {r:handler_read("h.add nothing")})
    r:handler_write("h.write", "reset")
    assert.equal("0", r:handler_read("h.add count"))
  end)

  it("says which element there isn't", function ()
    assert.equal("ELEMENT: does not name an element",
      problem_of("HandlerAggregate(ELEMENT a)"))
    assert.equal("OTHER: unknown argument", problem_of("HandlerAggregate(OTHER a)"))
  end)
end)

describe("PokeHandlers", function ()
  it("does what an older form of scripts says", function ()
    local r = click_router.run("i :: Idle; s :: Switch(0); i -> s -> i;"
      .. "PokeHandlers(delay 1, write s.switch -1, 2.5, quit)")
    assert.equal("-1", r:handler_read("s.switch"))
    assert.is_true(r.ended)
    assert.is_true(math.abs(r:steady() - 3.5) < 0.01)
  end)
end)

describe("ProgressBar", function ()
  it("follows handlers, until it is done", function ()
    local r = click_router.make("TimedSource(1) -> c :: Counter -> Discard;"
      .. "p :: ProgressBar(c.count c.count, FIXED_SIZE 10, DELAY 1)")
    click_router.turn(r, 3.2)
    assert.equal("6", r:handler_read("p.pos"))
    assert.equal("10", r:handler_read("p.size"))
    r:handler_write("p.mark_done", "")
    click_router.turn(r, 2)
    assert.equal("6", r:handler_read("p.pos"))
    assert.equal("6", r:handler_read("p.size"))
    r:handler_write("p.reset", "")
    click_router.turn(r, 1)
    assert.equal("12", r:handler_read("p.pos"))
    r:handler_write("p.active", "false")
    click_router.turn(r, 2)
    assert.equal("12", r:handler_read("p.pos"))
    r:close()
  end)
end)

describe("TSCClock and JiffieClock", function ()
  it("tell the time", function ()
    local r = click_router.run("t :: TSCClock(READY_CALL s.run); j :: JiffieClock;"
      .. "s :: Script(TYPE PASSIVE, set x 1); Script(wait 2, stop)")
    assert.equal("1", r:handler_read("s.get x"))
    assert.equal("2000", r:handler_read("j.jiffies"))
    assert.truthy(r:handler_read("t.now"):find("^1000000002%.0"))
    assert.is_true(tonumber(r:handler_read("t.cycles_hz")) > 1e6)
  end)

  it("pass packets", function ()
    assert.equal(2, #click_router.run("InfiniteSource(LIMIT 2, STOP true) -> TSCClock"
      .. " -> Catch").caught)
  end)
end)

describe("CPUQueue", function ()
  it("is a queue that all outputs pull from", function ()
    local r = click_router.run("InfiniteSource(LIMIT 9, BURST 9) -> q :: CPUQueue(4);"
      .. "q -> Unqueue -> Catch; q [1] -> Unqueue -> Catch; Script(wait 1, stop)")
    assert.equal(4, #r.caught)
    assert.equal("4", r:handler_read("q.capacity"))
    assert.equal("5", r:handler_read("q.drops"))
  end)
end)

describe("ControlSocket and HTTPServer", function ()
  it("take types in quotes", function ()
    for _, element in ipairs{"ControlSocket", "ChatterSocket"} do
      local r = assert(click.router(element .. '("tcp", 0)'))
      r:close()
    end
    local r = assert(click.router('Socket("UDP", 127.0.0.1, 0) -> Discard'))
    r:close()
  end)

  it("say what is wrong with their arguments", function ()
    for config, text in pairs {
      ["ControlSocket(FOO, 1)"] = "unknown socket type 'FOO'",
      ["ControlSocket(TCP, x)"] = "PORT requires TCP port",
      ["ControlSocket(TCP, 65536)"] = "PORT requires TCP port",
      ["ControlSocket(UNIX, " .. ("x"):rep(108) .. ")"] = "filename too long",
      ["ControlSocket(TCP)"] = "PORT: required argument missing",
      ["ControlSocket(UNIX, /nowhere/x)"] = "bind: No such file or directory",
      ["HTTPServer(x)"] = "PORT requires TCP port",
      ["HTTPServer(80, ALIAS_MAP x)"] = "Cannot find ':' in alias x",
    } do
      assert.equal(text, problem_of(config))
    end
  end)

  it("try again, and stop the router at last", function ()
    local path = os.tmpname()
    os.remove(path)
    local first = click_router.make("ControlSocket(UNIX, " .. path .. ")")
    local written = {}
    local write = output.write
    output.write = function (_, s) written[#written + 1] = s end
    local r, problem = click_router.make("c :: ControlSocket(UNIX, " .. path
      .. ", RETRIES 2, RETRY_WARNINGS false); Script(wait 1.5s, print c.filename)")
    assert.is_nil(problem)
    local to_stderr = require("click.errors").to_stderr
    local said
    require("click.errors").to_stderr = function ()
      return require("click.errors").new(function (line) said = line end)
    end
    click_router.turn(r, 10)
    require("click.errors").to_stderr = to_stderr
    output.write = write
    assert.is_true(r.ended)
    assert.equal("bind: Address already in use", said)
    assert.same({path .. "\n"}, written)
    r:close()
    first:close()
    assert.is_nil(io.open(path))
  end)

  it("hand their sockets over to the next router", function ()
    local config = "c :: ControlSocket(TCP, 42000+%s); Idle -> x :: Idle"
    local old = click_router.make(config:format(""))
    local port = old:handler_read("c.port")
    local new = click_router.make(config:format(", RETRIES 1, RETRY_WARNINGS false"),
      {old = old})
    assert.equal(port, new:handler_read("c.port"))
    local server = new:find("c").server
    assert.is_number(server.fd)
    assert.is_nil(old:find("c").server)
    new:close()
    assert.is_nil(server.fd)
  end)
end)

describe("ChatterSocket", function ()
  it("tells its clients what elements print", function ()
    local path = os.tmpname()
    os.remove(path)
    local r = click.router("chat :: ChatterSocket(UNIX, " .. path .. [[);
      InfiniteSource("abc", LIMIT 2, STOP true) -> Print(x, 2) -> Discard]])
    local fd = sockets.connect_unix(path)
    r:find("chat").server:poll() -- takes the connection
    r:run()
    r:close()
    local parts = {}
    repeat
      local part = unistd.read(fd, 1000)
      parts[#parts + 1] = part
    until part == ""
    assert.equal("Click::ChatterSocket/1.0\r\nx:    3 | 6162\nx:    3 | 6162\n",
      table.concat(parts))
    unistd.close(fd)
    assert.is_nil(stat.stat(path))
  end)

  it("gives up clients that take nothing", function ()
    local unit = click.unit(
      "ChatterSocket(UNIX, /nowhere/x, GREETING false, RETRIES 1)")
    local client = unit.element:session()
    client:tell(("x"):rep(400000))
    assert.same({400000, nil}, {client.outgoing, client.done})
    client:tell(("x"):rep(200000))
    assert.same({0, true, {}}, {client.outgoing, client.done, client.output})
    assert.same({"unknown socket type 'SOCKET'"},
      click.unit("ChatterSocket(SOCKET, 3)").errors)
  end)
end)
