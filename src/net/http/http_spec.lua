-- SPDX-License-Identifier: Apache-2.0
local chunks = require("net.http.chunks")
local head = require("net.http.head")

local function text(first, ...)
  local lines = {first, ...}
  lines[#lines + 1] = "\r\n"
  return table.concat(lines, "\r\n")
end

local function body(asked, ...)
  local h = head.parse(text(...), asked)
  return h and (h.length and h.body .. " " .. h.length or h.body)
end

describe("net.http.head", function ()
  it("says where bodies end", function ()
    local OK, GET = "HTTP/1.1 200 OK", "GET / HTTP/1.1"
    for _, x in ipairs{
      {"none", false, GET}, {"close", false, OK},
      {"length 5", false, OK, "content-LENGTH:5"},
      {"none", "HEAD", OK, "Content-Length: 5"},
      {"none", false, OK, "Content-Length: 0"},
      {"none", false, "HTTP/1.1 304 Not Modified", "Content-Length: 5"},
      {"none", false, "HTTP/1.1 204", "Transfer-Encoding: chunked"},
      {"none", false, "HTTP/1.1 100 Continue"},
      {"tunnel", false, "HTTP/1.1 101 Switching"},
      {"tunnel", "CONNECT", OK}, {"close", "CONNECT", "HTTP/1.1 400 Bad"},
      {"chunked", false, OK, "Transfer-Encoding: gzip, Chunked", "Content-Length: 9"},
      {"close", false, OK, "Transfer-Encoding: gzip"},
      {"length 7", false, OK, "Content-Length: 7", "Content-Length: 7, 7"},
      {"length 7", false, "PUT /a b HTTP/1.0", "Content-Length: 7"},
      {"chunked", false, "POST / HTTP/1.1", "Transfer-Encoding: chunked"},
      {"length 7", false, OK, "Content-Length:", " ", "\t7"},
      {"length 7", false, OK, "X: a", " Content-Length: 8", "Content-Length: 7"},
    } do
      assert.equal(x[1], body(x[2] or nil, unpack(x, 3)), table.concat(x, " ", 3))
    end
  end)

  it("refuses what leaves that open", function ()
    local OK = "HTTP/1.1 200 OK"
    for _, x in ipairs{{"hello"}, {"GET / HTTP/2.0"}, {"HTTP/1.1 20"}, {OK, "no field"},
      {OK, "Content-Length: 5, 6"}, {OK, "Content-Length: -5"}, {OK, "Content-Length:"},
      {OK, "Content-Length: 5,"}, {OK, "Content-Length : 5"}, {OK, ": 5"},
      {OK, "X: a\rContent-Length: 5"}, {OK .. "\rContent-Length: 5"}, {OK, "X: \0"},
      {OK, "Content-Length: 99999999999999999999"}, {OK, "Content-Length: 0x5"},
      {"GET / HTTP/1.1", "Transfer-Encoding: gzip"}} do
      assert.is_nil(head.parse(text(unpack(x))), table.concat(x, " "))
    end
  end)

  it("finds heads, fields and versions", function ()
    local t = text("HTTP/1.0 200 OK", "A: b ", "Connection: Keep-Alive, x")
    assert.same({#t, 0}, {head.find(t .. "body\r\n\r\n")})
    assert.same({#t + 2, 2}, {head.find("\r\n" .. t)})
    assert.is_nil(head.find(t:sub(1, -2)))
    local h = head.parse(t)
    local field = h.fields[1]
    assert.same({"a", "b", "A: b \r\n"},
      {field.name, field.value, t:sub(field.at + 1, field.behind)})
    assert.same({0, false, 200}, {h.minor, h.closes, h.status})
    assert.is_true(head.parse("GET / HTTP/1.1\nConnection: x, close\n\n").closes)
    assert.is_true(head.parse("GET / HTTP/1.0\n\n").closes)
  end)
end)

-- What of the body is left without framing, and with what it ends, in pieces of `n`.
local function read(coded, n)
  local reader, out = chunks.reader(), {}
  for at = 1, #coded, n do
    local piece = coded:sub(at, at + n - 1)
    local framing, last = reader:read(piece)
    if not framing then return nil end
    local from = 1
    for _, x in ipairs(framing) do
      out[#out + 1] = piece:sub(from, x[1])
      from = x[1] + x[2] + 1
    end
    out[#out + 1] = piece:sub(from, last or #piece)
    if last then
      return table.concat(out), reader.line .. coded:sub(at + last)
    end
  end
end

describe("net.http.chunks", function ()
  it("finds what is framing, however it is cut", function ()
    local coded = "5\r\nhello\r\n00b;x=1\r\n, chunked\r\n\r\n2 \r\n\r\n\r\n"
    for n = 1, #coded + 10 do
      assert.same({"hello, chunked\r\n\r\n", "0\r\nTrailer: 1\r\n\r\nnext"},
        {read(coded .. "0\r\nTrailer: 1\r\n\r\nnext", n)}, n)
    end
    assert.equal(17, chunks.trailer("0\r\nTrailer: 1\r\n\r\nnext"))
    assert.equal(5, chunks.trailer("0\r\n\r\n"))
    assert.is_nil(chunks.trailer("0\r\n"))
  end)

  it("refuses what isn't chunked", function ()
    for _, coded in ipairs{"\r\n", "x\r\n", "-1\r\n", "5\r\nhelloo\r\n", "5x\r\n",
      "1234567890123\r\n", ("0"):rep(5000), "0x5\r\nhello", " 5\r\n", "5;" ..
      ("a"):rep(5000) .. "\r\n"} do
      for n = 1, 7 do assert.is_nil((read(coded, n)), coded:sub(1, 10)) end
    end
  end)
end)
