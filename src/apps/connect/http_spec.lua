-- SPDX-License-Identifier: Apache-2.0
-- What a client makes of HTTP/1.1's answers, and a server of requests.

local ffi = require("ffi")
local tcp_wire = require("testing.tcp_wire")

local GET = "GET / HTTP/1.1\r\nHost: x\r\n"

local function set(message, text)
  ffi.copy(message.head, text, #text)
  message.head_length, message.length = #text, #text
end

-- What the client counts of one connection that asks three times.
local function client_of(request, answer)
  local wire = tcp_wire.new{both = {http = "/", requests = 3, timeout = 5}}
  set(wire.client.endpoint.out, request)
  set(wire.server.endpoint.out, answer)
  assert.is_true(wire:run(1))
  local c = wire:counts("client")
  wire:free()
  return {c.closed, c.answers, c.unreadable, c.failed_answers, c.cut_short}
end

describe("HTTP's answers", function ()
  it("end where their length, status or connection says", function ()
    for _, case in ipairs{
      {"HTTP/1.1 200 OK\r\nContent-Length:3\r\n\r\nabc", {1, 3, 0, 0, 0}},
      {"HTTP/1.1 404 No\r\nCONTENT-LENGTH:  0\r\n\r\n", {1, 3, 0, 3, 0}},
      {"HTTP/1.1 204 No Content\r\nServer: y\r\n\r\n", {1, 3, 0, 0, 0}},
      {"HTTP/1.1 200 OK\r\n\r\nto the end", {1, 1, 0, 0, 1}, "Connection: close\r\n"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", {1, 1, 0, 0, 1},
       "Connection: close\r\n"},
    } do
      local answer, counts, field = unpack(case)
      assert.same(counts, client_of(GET .. (field or "") .. "\r\n", answer), answer)
    end
  end)

  it("are refused where they can't be read", function ()
    for _, answer in ipairs{
      "SSH-2.0-x\r\n", "HTTP/2 200\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\na",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\na",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
    } do
      assert.same({0, 0, 1, 0, 0}, client_of(GET .. "\r\n", answer), answer)
    end
  end)
end)
