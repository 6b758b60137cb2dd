-- SPDX-License-Identifier: Apache-2.0
local http = require("net.http.messages")

describe("HTTP's messages", function ()
  it("are read once their heads are whole", function ()
    local text = "GET http://x/a/b?json HTTP/1.1\r\nHost: x\r\nACCEPT:  a \r\n"
      .. "accept: b\r\n\r\nrest"
    for n = 0, #text - 5 do assert.is_nil(http.request(text:sub(1, n))) end
    local request, behind = http.request(text)
    assert.same({method = "GET", path = "/a/b", query = "json", keep = true, minor = 1,
      length = 0, is_chunked = false, headers = {host = "x", accept = "a, b"}}, request)
    assert.equal("rest", text:sub(behind))
  end)

  it("say whether the connection goes on", function ()
    local function keep(version, header)
      return http.request(("GET / HTTP/%s\n%s\n"):format(version, header or "")).keep
    end
    assert.same({true, false, false, true}, {keep("1.1"),
      keep("1.1", "Connection: close\n"), keep("1.0"),
      keep("1.0", "connection: Keep-Alive\n")})
    assert.same({false, false, true, true}, {keep("1.1", "Connection: TE, Close\n"),
      keep("1.1", "Connection: x\nConnection: close\n"), keep("1.1", "Connection: x\n"),
      keep("1.0", "Connection: x, keep-alive\n")})
  end)

  it("that are something else are told apart from those that aren't whole", function ()
    for _, text in ipairs{"GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n",
      "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET a b HTTP/1.1\r\n\r\n",
      "HTTP/1.1 200 OK\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nX: a\rContent-Length: 5\r\n\r\n",
      "GET / HTTP/1.1\r\nX: \0\r\n\r\n",
      "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
      "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"} do
      assert.is_false((http.request(text)), text)
    end
  end)

  it("say how long their bodies are", function ()
    local function length(...)
      local r = http.request("POST / HTTP/1.2\n" .. table.concat({...}, "\n") .. "\n\n")
      return {r.length, r.is_chunked}
    end
    assert.same({0, false}, length("A: b"))
    assert.same({5, false}, length("Content-Length: 5", "Content-Length:5, 5"))
    assert.same({0, true}, length("Transfer-Encoding: x, Chunked", "Content-Length: 5"))
  end)

  it("come from pages of an origin", function ()
    for origin, foreign in pairs{["http://a:8080"] = false, ["HTTP://A:8080"] = false,
      ["http://a"] = true, ["http://b:8080"] = true, null = true} do
      assert.equal(foreign,
        http.foreign_origin{headers = {host = "a:8080", origin = origin}}, origin)
    end
    assert.is_false(http.foreign_origin{headers = {host = "a"}})
    assert.is_true(http.foreign_origin{headers = {origin = "http://a"}})
  end)

  it("are read in time, whatever they are", function ()
    local n = 65536
    for _, text in ipairs{("\r"):rep(n), ("\r\n"):rep(n), (" "):rep(n),
        "GET / HTTP/1.1\r\n" .. ("a:\n"):rep(n / 3) .. "\n",
        "GET / HTTP/1.1\r\na: x" .. ("\n y"):rep(n / 3) .. "\n\n",
        "GET / HTTP/1.1\r\na: x" .. (" "):rep(n) .. "y\r\n\r\n",
        "GET / HTTP/1.1\r\na:" .. (" "):rep(n) .. "\r\n\r\n"} do
      local began = os.clock()
      for _ = 1, 10 do http.request(text) end
      assert.is_true(os.clock() - began < 5) -- it was minutes
    end
    assert.equal("x  y", http.request("GET / HTTP/1.1\na: \t x  y \t\n\n").headers.a)
    assert.equal("", http.request("GET / HTTP/1.1\na:  \n\n").headers.a)
  end)

  it("are answered", function ()
    assert.equal("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
      .. "Content-Length: 3\r\nX-Content-Type-Options: nosniff\r\n"
      .. "Content-Security-Policy: frame-ancestors 'none'\r\n"
      .. "X-Frame-Options: DENY\r\n"
      .. "Connection: close\r\n\r\n", http.head(404, 3))
  end)
end)
