-- SPDX-License-Identifier: Apache-2.0

local http = require("lib.control.http")

-- What a session says to the pieces of text, and whether it is done.
local function ask(page, any_method, ...)
  local session = http.session(page, any_method)
  for _, piece in ipairs{...} do
    session:receive(piece)
    session:work()
  end
  return table.concat(session.output), session.done
end

local function never() error("asked") end

describe("http", function ()
  it("answers a request that comes in pieces", function ()
    local asked
    local text, done = ask(function (request)
      asked = request
      return 200, '{"a":1}', "application/json"
    end, true, "POST /a/b?c=1 HTTP/1.1\r\nHost: x\r\nAccept: a\r\nACCEPT: b\r\n",
      "Content-Length: 4\r\n\r\nbo", "dy")
    assert.is_true(done)
    assert.same({method = "POST", path = "/a/b", query = "c=1", body = "body",
      headers = {host = "x", accept = "a, b", ["content-length"] = "4"}}, asked)
    assert.matches("^HTTP/1.1 200 OK\r\n", text)
    assert.matches('Content%-Type: application/json\r\nContent%-Length: 7\r\n', text)
    assert.matches('\r\n\r\n{"a":1}$', text)
  end)

  it("leaves the body out of what HEAD asks for", function ()
    local text = ask(function () return 200, "body" end, false,
      "HEAD / HTTP/1.0\n\n")
    assert.matches("Content%-Length: 4\r\nConnection: close\r\n\r\n$", text)
  end)

  it("goes on with a page that takes a breath", function ()
    local session = http.session(function ()
      coroutine.yield()
      return 200, "late"
    end)
    session:receive("GET / HTTP/1.1\r\n\r\n")
    session:work()
    assert.is_nil(session.done)
    session:work()
    assert.matches("late$", session.output[1])
  end)

  it("refuses what it can't take", function ()
    for text, status in pairs{
      ["hello\r\n\r\n"] = 400, ["DELETE / HTTP/1.1\r\n\r\n"] = 405,
      ["GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"] = 400,
      ["GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"] = 400,
      ["GET / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"] = 413,
      ["GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"] = 411,
      [("x"):rep(20000)] = 400} do
      local answer, done = ask(never, false, text)
      assert.is_true(done)
      assert.matches(("^HTTP/1.1 %d "):format(status), answer)
    end
  end)

  it("drops what ends early", function ()
    for _, text in ipairs{"GET / HTTP/1.1\r\nConte",
                          "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nshort"} do
      local session = http.session(never, true)
      session:receive(text)
      session:work()
      assert.falsy(session.done)
      session:receive(nil)
      session:work()
      assert.same({true, 0}, {session.done, session.outgoing})
    end
  end)

  it("tells of a page's error", function ()
    assert.matches("^HTTP/1.1 500 .*a bug\n$", (ask(function () error("a bug") end,
      false, "GET / HTTP/1.1\r\n\r\n")))
  end)
end)
