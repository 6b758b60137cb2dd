-- SPDX-License-Identifier: Apache-2.0

local sessions = require("net.http.session")

-- What a session says to the pieces of text, and whether it is done.
local function ask(page, options, ...)
  local session = sessions.new(page, options)
  for _, piece in ipairs{...} do
    session:receive(piece)
    session:work()
  end
  return table.concat(session.output), session.done
end

local function never() error("asked") end

local GET = "GET / HTTP/1.1\r\n\r\n"

describe("a client of a web server", function ()
  it("gets an answer to a request that comes in pieces", function ()
    local asked
    local text, done = ask(function (request)
      asked = request
      return 200, '{"a":1}', "application/json"
    end, {any_method = true}, "POST /a/b#x?c=1 HTTP/1.1\r\nHost: x\r\nAccept: a\r\n",
      "Content-Length: 4\r\n\r\nbo", "dy and more")
    assert.is_true(done)
    assert.same({"POST", "/a/b", "c=1", "body", "a"}, {asked.method, asked.path,
      asked.query, asked.body, asked.headers.accept})
    assert.matches("^HTTP/1.1 200 OK\r\n", text)
    assert.matches('Content%-Type: application/json\r\nContent%-Length: 7\r\n', text)
    assert.matches('\r\n\r\n{"a":1}$', text)
  end)

  it("gets no body with what HEAD asks for", function ()
    local text = ask(function () return 200, "body" end, nil, "HEAD / HTTP/1.0\n\n")
    assert.matches("Content%-Length: 4\r\n", text)
    assert.matches("Connection: close\r\n\r\n$", text)
  end)

  it("gets a page when it is made, and no more is read meanwhile", function ()
    local session = sessions.new(function ()
      coroutine.yield()
      return 200, "late"
    end)
    session:receive(GET)
    session:work()
    assert.is_nil(session.done)
    for _ = 1, 100 do session:receive(("x"):rep(10000)) end
    assert.is_true(#session.input < 100)
    session:work()
    assert.matches("late$", table.concat(session.output))
  end)

  it("is told what is wrong with its request", function ()
    for text, status in pairs{
      ["hello\r\n\r\n"] = 400, ["DELETE / HTTP/1.1\r\n\r\n"] = 405,
      ["GET / HTTP/1.1\r\nx\r\n\r\n"] = 400,
      ["GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"] = 400,
      ["GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"] = 400,
      ["GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"] = 400,
      ["GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"] = 413,
      ["GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"] = 411,
      [("x"):rep(20000)] = 431} do
      local answer, done = ask(never, nil, text)
      assert.is_true(done)
      assert.matches(("^HTTP/1.1 %d "):format(status), answer)
    end
  end)

  it("may go on asking, with what came meanwhile", function ()
    local s = sessions.new(function (request)
      if request.path == "/slow" then coroutine.yield() end
      return 200, request.path .. " " .. request.body
    end, {any_method = true, keep = true, longest_body = 10})
    local function say(text)
      s:receive(text)
      s:work()
      local bodies = {}
      for body in table.concat(s.output):gmatch("\r\n\r\n([^H]*)") do
        bodies[#bodies + 1] = body
      end
      s.output, s.outgoing = {}, 0
      return bodies
    end
    assert.is_true(s:is_idle())
    assert.same({"/a ", "/b 123"},
      say("GET /a HTTP/1.1\n\nPUT /b HTTP/1.1\nContent-Length: 3\n\n123"))
    assert.is_true(s:is_idle())
    assert.same({}, say("GET /slow HTTP/1.1\n\nGET /c HTTP/1.1\n\n"))
    assert.same({false, true}, {s:is_idle(), s.full})
    assert.same({"/slow ", "/c "}, say(""))
    assert.is_nil(s.full)
    assert.same({}, say("PUT /d HTTP/1.1\nContent-Length: 3\n\n1"))
    assert.falsy(s.done)
    assert.same({"/d 123", "/e "},
      say("23GET /e HTTP/1.1\nConnection: x, close\n\nGET /f HTTP/1.1\n\n"))
    assert.is_true(s.done)
  end)

  it("is told to go on with its body, if that isn't there", function ()
    for text, wanted in pairs{
      ["Content-Length: 3\r\n\r\n"] = 100, ["Content-Length: 3\r\n\r\nabc"] = 200,
      ["Content-Length: 99999999\r\n\r\n"] = 413, ["\r\n"] = 200} do
      local said = ask(function () return 200, "" end, {any_method = true},
        "POST / HTTP/1.1\r\nExpect: 100-Continue\r\n" .. text)
      assert.equal(tostring(wanted), said:match("^HTTP/1.1 (%d+)"), text)
    end
    assert.equal("", (ask(never, {any_method = true},
      "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")))
  end)

  it("that ends early gets nothing", function ()
    for _, text in ipairs{"GET / HTTP/1.1\r\nConte",
                          "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort"} do
      local session = sessions.new(never, {any_method = true})
      session:receive(text)
      session:work()
      assert.falsy(session.done)
      session:receive(nil)
      session:work()
      assert.same({true, 0}, {session.done, session.outgoing})
    end
  end)

  it("is told of a page's error", function ()
    assert.matches("^HTTP/1.1 500 .*a bug\n$", (ask(function () error("a bug") end,
      nil, GET)))
  end)

  it("that says nothing, or takes nothing, is waited for a while only", function ()
    for _, request in ipairs{"", "GET /", GET} do
      local seconds = 0
      local session = sessions.new(function () return 200, "page" end,
        {now = function () return seconds end})
      session:receive(request)
      session:work()
      assert.equal(request ~= GET, session:is_idle())
      seconds = 4
      session:work()
      assert.equal(request == GET, session.done or false)
      seconds = request == GET and 59 or 6
      session:work()
      assert.equal(request == GET, session.outgoing > 0)
      seconds = request == GET and 61 or 6
      session:work()
      assert.same({true, 0}, {session.done, session.outgoing})
    end
  end)
end)
