-- SPDX-License-Identifier: Apache-2.0
local protocol = require("click.script.protocol")

-- A router of one element, s, a switch.
local function new_router()
  local router = {global_handlers = require("click.router.global_handlers")}
  router.root = {name = "", router = router}
  local s = {name = "s", index = 1, router = router, ninputs = 1, noutputs = 2,
    class = {name = "Switch"}, config = "", switch = "0"}
  s.class.handlers = {
    switch = {read = function (self) return self.switch end,
      write = function (self, text)
        if not tonumber(text) then return "Switch expects an integer" end
        self.switch = text
      end},
    two = {write = function (_, _, reporter)
      reporter:error("one thing")
      reporter:error("another thing")
      return -1
    end},
    warns = {write = function (_, _, reporter) reporter:warning("not so well") end},
    echo = {read = function (_, argument) return "<" .. argument .. ">" end,
      param = true},
    bad = {read = function () return nil, "it's bad" end},
    secret = {read = function () return "" end, private = true},
  }
  router.elements = {s}
  function router.find(_, name) return name == "s" and s or nil end
  function router.stop(_, n) router.stopped = n end
  return router, s
end

-- What a session says to `input`, behind its greeting; a dot is a carriage return.
local function said(input, options, router)
  local session = protocol.session(router or new_router(), options or {})
  session:receive(input)
  session:work()
  local all = table.concat(session.output)
  assert.equal("Click::ControlSocket/1.3\r\n", all:sub(1, 26))
  return (all:sub(27):gsub("\r\n", ".\n")), session
end

describe("the control protocol", function ()
  it("lets a client make room for others that has given no command", function ()
    assert.is_true(select(2, said("READ s.sw")):is_idle())
    assert.is_false(select(2, said("READ s.switch\n")):is_idle())
  end)

  it("reads and writes handlers", function ()
    assert.equal([[
200 Read handler 's.switch' OK.
DATA 1.
0200 Write handler 's.switch' OK.
200 Read handler '1.switch' OK.
DATA 1.
1200 Read handler 's.echo' OK.
DATA 5.
<a b>]], said("read s.switch\r\nWRITE s.switch 1\nGet 1.switch\rREAD  s.echo a b \n"))
    assert.equal([[
200 Read handler 'driver' OK.
DATA 9.
userlevel200 Read handler '.driver' OK.
DATA 9.
userlevel]], said("READ driver\nREAD .driver\n\n"))
  end)

  it("takes no parameters for a handler that has none, as Click", function ()
    assert.equal([[
590-Read handler 's.switch' error:.
590 read handler 's.switch' does not take parameters.
590-Read handler 's.switch' error:.
590 read handler 's.switch' does not take parameters.
]], said("READ s.switch 3\nREADDATA s.switch 1\n3"))
  end)

  it("says why it doesn't", function ()
    assert.equal([[
510 No element named 'x'.
511 No handler named 's.x'.
511 No handler named 's.secret'.
511 No handler named 'x'.
530 Handler 's.two' write-only.
530 Handler 's.echo' read-only.
500 Wrong number of arguments.
501 Command 'FOO' unimplemented.
590-Read handler 's.bad' error:.
590 it's bad.
520-Write handler 's.switch' error:.
520 Switch expects an integer.
520-Write handler 's.two' error:.
520-one thing.
520 another thing.
220-Write handler 's.warns' OK with warnings:.
220 warning: not so well.
]], said([[
read x.y
read s.x
read s.secret
read x
read s.two
write s.echo
read
foo bar
read s.bad
write s.switch x
write s.two
write s.warns
]]))
  end)

  it("takes data by its length, and lines", function ()
    local data = "READDATA s.echo 3\r\na\nbREADUNTIL s.echo\r\nl1\r\nl2  \r\n \r\n"
      .. "READUNTIL s.echo END \nx\nEND\n"
    local whole = said(data)
    assert.equal([[
200 Read handler 's.echo' OK.
DATA 5.
<a
b>200 Read handler 's.echo' OK.
DATA 12.
<l1.
l2  .
>200 Read handler 's.echo' OK.
DATA 4.
<x
>]], whole)
    -- The same, a byte at a time.
    local session = protocol.session(new_router(), {})
    for byte in data:gmatch(".") do
      session:receive(byte)
      session:work()
    end
    assert.equal(whole, (table.concat(session.output):sub(27):gsub("\r\n", ".\n")))
    assert.is_nil(session.done)
  end)

  it("checks handlers", function ()
    assert.equal([[
200 Read handler 's.switch' OK.
200 Write handler 's.switch' OK.
511 Handler 's.two' not readable.
511 Handler 's.echo' not writable.
511 No handler named 's.x'.
]], said([[
checkread s.switch
checkwrite s.switch
checkread s.two
checkwrite s.echo
checkread s.x
]]))
  end)

  it("makes calls in binary form", function ()
    local router, s = new_router()
    assert.equal("200 LLRPC 's#4004C005' OK.\nDATA 4.\n\0\0\0\0",
      said("llrpc s#4004C005\n", {}, router))
    assert.equal("200 LLRPC 's#80044006' OK.\nDATA 0.\n",
      said("llrpc s#80044006 4\n\1\0\0\0", {}, router))
    assert.equal("1", s.switch)
    assert.equal([[
522 LLRPC 's#80044006' error: Invalid argument.
522 LLRPC 's#80044006' requires 4 bytes input data.
501 Cannot call LLRPC 's#20000000' remotely.
500 Syntax error in LLRPC name 's'.
522 LLRPC 's#C004C003' error: Invalid argument.
]], said("llrpc s#80044006 4\n\9\0\0\0llrpc s#80044006\nllrpc s#20000000\nllrpc s\n"
      .. "llrpc s#C004C003 4\n\0\0\0\0", {}, router))
  end)

  it("only reads where that is wanted", function ()
    assert.equal([[
530 Permission denied for 's.switch'.
530 Permission denied for 's.switch'.
200 Read handler 's.switch' OK.
530 Permission denied for 's#80044006'.
]], said("write s.switch 1\ncheckwrite s.switch\ncheckread s.switch\n"
      .. "llrpc s#80044006\n", {read_only = true}))
  end)

  it("hands everything to a proxy", function ()
    local router = new_router()
    local proxy = {name = "p", class = {name = "P"}, router = router}
    function proxy.find_handler(_, name)
      return name ~= "none" and {read = function () return name end} or nil
    end
    assert.equal("200 Read handler 'a.b' OK.\nDATA 3.\na.b"
      .. "511 No proxied handler named 'none'.\n",
      said("read a.b\nread none\n", {proxy = proxy}, router))
  end)

  it("ends when the client says so, or goes", function ()
    local text, session = said("help\nquit\nread s.switch\n")
    assert.equal("200-Commands:.\n", text:sub(1, 15))
    assert.equal("200 Goodbye!.\n", text:sub(-14))
    assert.is_true(session.done)
    text, session = said("read s.switch")
    assert.equal("", text)
    session:receive(nil)
    session:work()
    assert.is_true(session.done)
    assert.equal("0", session.output[#session.output])
    text, session = said("writedata s.switch 100\nabc\n")
    assert.equal("", text)
    session:receive(nil)
    session:work()
    assert.equal("500 Not enough data\r\n", session.output[2])
  end)

  it("isn't filled up", function ()
    local text, session = said("WRITEDATA s.switch 99999999\nabc")
    assert.equal("521 Data too large for 's.switch'.\n", text)
    assert.is_true(session.done)
    session = select(2, said(("x"):rep(2 * 1024 * 1024)))
    assert.is_true(session.done)
  end)
end)
