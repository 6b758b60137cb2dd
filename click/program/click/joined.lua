-- SPDX-License-Identifier: Apache-2.0
-- Handlers of a router of which there are copies on several CPUs: what is read is
-- joined.
--
-- A handler may have `join`: "sum", "most" (the largest one), "all" (one text after
-- the other), "first", or a function of the texts. Without, the router's own handlers
-- and those that can be written, too, are the same in all copies, numbers are summed
-- (not if the handler takes arguments), and other texts follow each other, unless they
-- are all the same.

local click = require("apps.click.click")
local handlers = require("click.router.handlers")
local workers = require("core.cpus.workers")

local joined = {}

local ALIKE = {name = true, class = true, config = true, ports = true, handlers = true,
  home_thread = true}

local function all_the_same(texts)
  for i = 2, #texts do
    if texts[i] ~= texts[1] then return false end
  end
  return true
end

local function add(a, b) return a + b end

-- What the numbers are together; nil if one isn't a number.
local function number_of(texts, together)
  local result
  for _, text in ipairs(texts) do
    local number = tonumber(text)
    if not number then return nil end
    result = result and together(result, number) or number
  end
  return handlers.as_text(result)
end

local function one_after_the_other(texts)
  local list = {}
  for i, text in ipairs(texts) do list[i] = text:gsub("[^\n]$", "%0\n") end
  return table.concat(list)
end

--- The text of the handler `h` called `name`, of what copies say.
function joined.text(h, name, texts)
  local how = h.join
  if type(how) == "function" then return how(texts) end
  if ALIKE[name] or how == "first" or not how and h.write then return texts[1] end
  if how == "all" then return one_after_the_other(texts) end
  local number = not h.param and number_of(texts, how == "most" and math.max or add)
  if number then return number end
  return all_the_same(texts) and texts[1] or one_after_the_other(texts)
end

-- Where the copies are: cpus, app_of (copies.run); `whole`: a set of the names of
-- elements that are in one app beside them, `beside`.

-- The text of a read handler of all copies, with `full` as its whole name and
-- arguments; or nil and what is wrong.
local function read(where, router, e, name, full)
  local texts = {}
  for i, cpu in ipairs(where.cpus) do
    local answer = workers.call(cpu, "apps.click.click", "read",
      {app = where.app_of(i), handler = full})
    if not answer.text then return nil, answer.problem end
    if e == router.root then return answer.text end
    texts[i] = answer.text
  end
  return joined.text(handlers.find(router, e, name), name, texts)
end

-- Write to the handler of each copy; what is wrong, or nil.
local function write(where, full, text)
  local problem
  for i, cpu in ipairs(where.cpus) do
    local answer = workers.call(cpu, "apps.click.click", "write",
      {app = where.app_of(i), handler = full, text = text})
    if not answer.ok then problem = problem or answer.problem end
  end
  return problem
end

--- What finds the elements of copies for a router beside them
--- (click.router.handlers). `router`, which is closed, knows their classes.
function joined.finder(router, where)
  return function (beside, name, near)
    local e = router:find(name, near)
    if not e or where.whole[e.name] then return nil end
    local function own(_, key)
      local h = handlers.find(router, e, key)
      if not h then return nil end
      local full = e.name .. "." .. key
      return {
        param = h.param,
        read = h.read and function (_, arguments)
          return read(where, router, e, key,
            arguments and arguments ~= "" and full .. " " .. arguments or full)
        end,
        write = h.write and function (_, text) return write(where, full, text) end,
      }
    end
    return handlers.stand_in(beside, e, own)
  end
end

-- An element beside the copies, as seen from elsewhere.
local function beside_them(router, where, e)
  local function own(_, key)
    local h = handlers.find(router, e, key)
    local full = e.name .. "." .. key
    return h and {
      param = h.param,
      read = h.read and function (_, arguments)
        local answer = click.read{app = where.beside, handler = arguments ~= ""
          and full .. " " .. arguments or full}
        return answer.text, answer.problem
      end,
      write = h.write and function (_, text)
        local answer = click.write{app = where.beside, handler = full, text = text}
        if not answer.ok then return answer.problem end
      end,
    }
  end
  return handlers.stand_in(router, e, own)
end

--- A function that finds, by its name, an element of the copies or beside them, for who
--- is in none of these. `router` is closed.
function joined.seen(router, where)
  local find = joined.finder(router, {cpus = where.cpus, app_of = where.app_of,
    whole = where.whole or {}})
  return function (name)
    local e = router:find(name)
    if e and where.whole and where.whole[name] then
      return beside_them(router, where, e)
    end
    return find(router, name)
  end
end

--- The handlers that tell what a configuration has, of the whole `router`, which is
--- closed: for the part of it with the scripts and sockets.
function joined.of_whole(router)
  local own = {}
  for _, name in ipairs{"active_ports", "config", "flatconfig", "list",
                        "requirements"} do
    local h = handlers.find(router, router.root, name)
    own[name] = {read = function () return h.read(router) end}
  end
  return own
end

--- Let the router's handlers be those of the copies, and of what is beside them.
function joined.handlers(router, where)
  function router:handler_read(full)
    local e, name = handlers.resolve(self, (handlers.split(full)))
    if not e then return nil, name end
    if where.whole and where.whole[e.name] then
      local answer = click.read{app = where.beside, handler = full}
      return answer.text, answer.problem
    end
    return read(where, self, e, name, full)
  end
end

return joined
