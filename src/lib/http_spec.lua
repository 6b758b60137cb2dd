-- SPDX-License-Identifier: Apache-2.0
local http = require("lib.http")

describe("HTTP's messages", function ()
  it("are read once their heads are whole", function ()
    local text = "GET http://x/a/b?json HTTP/1.1\r\nHost: x\r\nACCEPT:  a \r\n"
      .. "accept: b\r\n\r\nrest"
    for n = 0, #text - 5 do assert.is_nil(http.request(text:sub(1, n))) end
    local request, behind = http.request(text)
    assert.same({method = "GET", path = "/a/b", query = "json", keep = true,
      headers = {host = "x", accept = "a, b"}}, request)
    assert.equal("rest", text:sub(behind))
  end)

  it("say whether the connection goes on", function ()
    local function keep(version, header)
      return http.request(("GET / HTTP/%s\n%s\n"):format(version, header or "")).keep
    end
    assert.same({true, false, false, true}, {keep("1.1"),
      keep("1.1", "Connection: close\n"), keep("1.0"),
      keep("1.0", "connection: Keep-Alive\n")})
  end)

  it("that are something else are told apart from those that aren't whole", function ()
    for _, text in ipairs{"GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n",
      "GET / HTTP/1.1\r\nno colon\r\n\r\n", "GET a b HTTP/1.1\r\n\r\n"} do
      assert.is_false((http.request(text)), text)
    end
  end)

  it("are read in time, whatever they are", function ()
    local n = 65536
    for _, text in ipairs{("\r"):rep(n), ("\r\n"):rep(n), (" "):rep(n),
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
