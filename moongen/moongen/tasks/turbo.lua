-- SPDX-License-Identifier: Apache-2.0
-- What handlers of libmoon's web server use of the Turbo framework: classes of requests
-- with a method for each of HTTP's, and errors with a status.

local json = require("cjson")

local M = {web = {}}

-- Classes: class("name", parent) makes one, and calling it makes an object, which is
-- given to its `initialize`. With a dot or as Class:new().
local function class(name, parent)
  local c = {name = name, super = parent}
  c.__index = c
  function c.new(_, ...)
    local object = setmetatable({}, c)
    if object.initialize then object:initialize(...) end
    return object
  end
  return setmetatable(c, {__index = parent, __call = c.new})
end
M.class = class

--- An error that a handler raises: the status, and its message or JSON.
M.web.HTTPError = class("HTTPError")

function M.web.HTTPError:initialize(status, message)
  self.code, self.message = status, message
end

local Handler = class("RequestHandler")
M.web.RequestHandler = Handler

function Handler:initialize(request)
  self.request, self.status, self.written = request, 200, {}
end

--- The answer's status (default 200).
function Handler:set_status(status) self.status = status end

function Handler:get_status() return self.status end

--- Add to the answer: text, or a table as JSON.
function Handler:write(part)
  table.insert(self.written, type(part) == "table" and json.encode(part)
    or tostring(part))
end

--- The request's body as a table; nil if it isn't JSON.
function Handler:get_json()
  local ok, value = pcall(json.decode, self.request.body)
  return ok and value or nil
end

--- The value of `name` in the request's query, or `default`.
function Handler:get_argument(name, default)
  for key, value in (self.request.query or ""):gmatch("([^=&]+)=([^&]*)") do
    if key == name then return value end
  end
  return default
end

local function failed(problem)
  if type(problem) == "table" and problem.code then
    local message = problem.message or ""
    return problem.code, type(message) == "table" and json.encode(message) or message
  end
  return 500, json.encode{message = tostring(problem)}
end

--- What the first of the handlers ({pattern, class} each) whose pattern the path
--- matches answers: a status and a body.
function M.answer(handlers, request)
  for _, entry in ipairs(handlers) do
    local found = {request.path:match(entry[1])}
    if found[1] then
      local object = entry[2]:new(request)
      local method = object[request.method:lower()]
      if not method then return 405, "" end
      local ok, problem = pcall(method, object, unpack(found))
      if not ok then return failed(problem) end
      return object.status, table.concat(object.written)
    end
  end
  return 404, ""
end

return M
