-- SPDX-License-Identifier: Apache-2.0
local turbo = require("moongen.tasks.turbo")

local Hello = turbo.class("Hello", turbo.web.RequestHandler)

function Hello:get(name)
  if name == "nobody" then error(turbo.web.HTTPError(400, {message = "who?"})) end
  if name == "bug" then error("a bug", 0) end
  self:write{hello = name, n = self:get_argument("n", "none")}
end

function Hello:post()
  self:set_status(201)
  self:write(self:get_json().a)
end

local function ask(method, path, more)
  local request = {method = method, path = path}
  for key, value in pairs(more or {}) do request[key] = value end
  return {turbo.answer({{"^/hello/([^/]*)$", Hello}}, request)}
end

describe("turbo's handlers", function ()
  it("answer what their patterns match", function ()
    local status, body = unpack(ask("GET", "/hello/you", {query = "m=2&n=1"}))
    assert.equal(200, status)
    assert.same({hello = "you", n = "1"}, require("cjson").decode(body))
    assert.same({201, "x"}, ask("POST", "/hello/", {body = '{"a": "x"}'}))
  end)

  it("refuse what they don't", function ()
    assert.same({404, ""}, ask("GET", "/other"))
    assert.same({405, ""}, ask("DELETE", "/hello/you"))
    assert.same({400, '{"message":"who?"}'}, ask("GET", "/hello/nobody"))
    assert.same({500, '{"message":"a bug"}'}, ask("GET", "/hello/bug"))
    assert.equal(500, ask("POST", "/hello/", {body = "no JSON"})[1])
  end)
end)
