-- SPDX-License-Identifier: Apache-2.0
local cjson = require("cjson")
local http = require("click.script.http")

local function new_router()
  local router = {global_handlers = require("click.router.global_handlers"),
    flat = {requirements = {}}}
  router.root = {name = "", router = router}
  local class = {name = "Counter", processing = "a/a", handlers = {
    count = {read = function (self) return self.count end},
    reset = {write = function (self, text)
      if text ~= "" then return "reset takes nothing" end
      self.count = 0
    end},
    echo = {read = function (_, argument) return "<" .. argument .. ">" end,
      param = true},
    bytes = {read = function () return "\228\255" end},
    bad = {read = function () return nil, "it's bad" end},
    secret = {read = function () return "" end, private = true, hidden = true},
    put_it = {write = function (self, text) self.put = text end},
    delete_it = {write = function (self, text) self.deleted = text end},
  }}
  local by_name = {}
  for i, name in ipairs {"c", "c/d", "x/y"} do
    router.elements = router.elements or {}
    router.elements[i] = {name = name, class = class, router = router, config = "",
      ninputs = 1, noutputs = 1, count = i, index = i}
    by_name[name] = router.elements[i]
  end
  function router.find(_, name) return by_name[name] end
  function router.stop(_, n) router.stopped = n or 1 end
  return router
end

local function exchange(text, options, router)
  local session = http.session(router or new_router(), options or {})
  session:receive(text)
  session:work()
  return table.concat(session.output), session
end

-- The status and body of the answer to `method` `path`, with these headers and body.
local function ask(method, path, headers, body, options, router)
  local answer = exchange(("%s %s HTTP/1.1\r\nHost: localhost\r\n%s"
    .. "Content-Length: %d\r\n\r\n%s"):format(method, path, headers or "",
    #(body or ""), body or ""), options, router)
  local status, rest = answer:match("^HTTP/1.1 (%d+) .-\r\n\r\n(.*)$")
  return tonumber(status), rest, answer
end

describe("handlers by HTTP", function ()
  it("are read", function ()
    local function get(path)
      local status, body = ask("GET", path)
      return ("%d %s"):format(status, body)
    end
    assert.equal("200 1", get("/c/count"))
    assert.equal("200 2", get("/c/d/count"))
    assert.equal("200 3", get("/x/y/count"))
    assert.equal("200 <a b/c>", get("/c/echo/a%20b/c"))
    assert.equal("200 1", get("/c/count/ignored"))
    assert.equal("200 userlevel", get("/driver"))
    assert.equal("200 3\nc\nc/d\nx/y\n", get("/"))
    assert.truthy(get("/c"):find("^200 name\tr\n"))
    assert.equal("400 it's bad\n", get("/c/bad"))
    assert.truthy(get("/nowhere/count"):find("^404 there is no element 'nowhere'"))
    assert.truthy(get("/c/nothing"):find("^404 there is no handler 'nothing'"))
    assert.truthy(get("/c/secret"):find("^404"))
    assert.equal("405 'c.reset' can't be read\n", get("/c/reset"))
  end)

  it("are written to", function ()
    local router = new_router()
    local function send(method, path, body, options)
      local status, text = ask(method, path, nil, body, options, router)
      return ("%d %s"):format(status, text)
    end
    assert.equal("200 success", send("POST", "/c/reset", ""))
    assert.equal(0, router.elements[1].count)
    assert.equal("400 reset takes nothing\n", send("POST", "/c/reset", "x"))
    assert.equal("405 'c.count' can't be written to\n", send("POST", "/c/count", ""))
    assert.equal("403 handlers can only be read\n",
      send("POST", "/c/reset", "", {read_only = true}))
    assert.equal("200 success", send("PUT", "/c/it/a", "b"))
    assert.equal("a\nb", router.elements[1].put)
    assert.equal("200 success", send("DELETE", "/c/it/a"))
    assert.equal("a", router.elements[1].deleted)
    assert.equal("200 success", send("POST", "/stop", ""))
    assert.equal(1, router.stopped)
    assert.equal("405 Unsupported method\n", send("BREW", "/c/reset", ""))
  end)

  it("are JSON where that is wanted", function ()
    local function get(path)
      local status, body = ask("GET", path, "Accept: application/json\r\n")
      assert.equal(200, status)
      return cjson.decode("[" .. body .. "]")[1]
    end
    assert.equal(1, get("/c/count"))
    assert.equal("<a>", get("/c/echo/a"))
    assert.equal("\195\164\195\191", get("/c/bytes"))
    local list = get("/list")
    assert.equal(3, #list)
    assert.same({name = "x/y", class = "Counter", config = "", inputs = 1, outputs = 1},
      list[3])
    assert.same({name = "name", read = true, write = false, argument = false},
      get("/c")[1])
    assert.same({}, get("/requirements"))
    local _, _, answer = ask("GET", "/c/count?json")
    assert.truthy(answer:find("Content-Type: application/json\r\n", 1, true))
  end)

  it("have other paths too", function ()
    local options = {aliases = {all = "c/d/count"}}
    assert.equal(200, (ask("GET", "/all", nil, nil, options)))
  end)

  it("are nothing for pages of other places", function ()
    assert.equal(403, (ask("GET", "/c/count", "Origin: http://evil.example\r\n")))
    assert.equal(200, (ask("GET", "/c/count", "Origin: http://localhost\r\n")))
    local answer = exchange("GET /c/count HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert.truthy(answer:find("^HTTP/1.1 403"))
    answer = exchange("GET /c/count HTTP/1.1\r\nHost: 192.0.2.1:8080\r\n\r\n")
    assert.truthy(answer:find("^HTTP/1.1 200"))
    answer = exchange("GET /c/count HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n")
    assert.truthy(answer:find("^HTTP/1.1 200"))
  end)

  it("come over one connection, in pieces", function ()
    local session = http.session(new_router(), {})
    local text = "GET /c/count HTTP/1.1\r\n\r\nPOST /c/reset HTTP/1.1\r\n"
      .. "Content-Length: 2\r\nExpect: 100-continue\r\n\r\nxy"
      .. "GET /c/count HTTP/1.0\r\n\r\nGET /c/count HTTP/1.1\r\n\r\n"
    for byte in text:gmatch(".") do
      session:receive(byte)
      session:work()
    end
    local codes = {}
    for code in table.concat(session.output):gmatch("HTTP/1.1 (%d+)") do
      codes[#codes + 1] = code
    end
    assert.same({"200", "100", "400", "200"}, codes)
    assert.is_true(session.done)
  end)

  it("are refused when they aren't HTTP, or too much of it", function ()
    for text, status in pairs {
      ["hello\r\n\r\n"] = 400, ["GET / HTTP/2.0\r\n\r\n"] = 400,
      ["GET / HTTP/1.1\r\nno header\r\n\r\n"] = 400,
      ["POST /c/reset HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"] = 411,
      ["POST /c/reset HTTP/1.1\r\nContent-Length: x\r\n\r\n"] = 400,
      ["POST /c/reset HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"] = 413,
      [("x"):rep(70000)] = 431,
    } do
      local answer, session = exchange(text)
      assert.equal(status, tonumber(answer:match("^HTTP/1.1 (%d+)")), text:sub(1, 60))
      assert.is_true(session.done)
    end
  end)
end)
