-- SPDX-License-Identifier: Apache-2.0
-- What `click` does with a router that has run: it prints what read handlers say, and
-- may take its exit status from one.

local posix_times = require("posix.sys.times")
local text_of = require("click.language.text")
local time = require("posix.time")
local unistd = require("posix.unistd")

local handlers = {}

-- Reading handlers -----------------------------------------------------------------

-- The Lua pattern for one of the shell's (*, ?, [a-z]).
local function pattern_of(glob)
  local pattern = glob:gsub("[%^%$%(%)%%%.%+%-]", "%%%0")
  pattern = pattern:gsub("%[([^%]]*)%]", function (set)
    return "[" .. set:gsub("%%%-", "-"):gsub("^!", "^") .. "]"
  end)
  return "^" .. pattern:gsub("[*?]", {["*"] = ".*", ["?"] = "."}) .. "$"
end

-- The elements that `name` stands for: one of that name, or those that match it, or of
-- that class. The second result is whether there may be several.
local function elements_named(router, name)
  local element = router:find(name)
  if element then return {element}, false end
  local pattern = name:find("[*?%[]") and pattern_of(name)
  local list = {}
  for _, other in ipairs(router.elements) do
    if pattern and other.name:find(pattern) or other.class.name == name then
      list[#list + 1] = other
    end
  end
  return list, true
end

-- The handlers to read, and whether to print their names.
local function expand(router, list, reporter)
  local found, named = {}, #list > 1
  for _, handler in ipairs(list) do
    local element, name = handler:match("^([^.]+)%.(.*)$")
    if not element then
      found[#found + 1] = handler
    else
      local elements, many = elements_named(router, element)
      named = named or many
      if #elements == 0 then
        reporter:error(element:find("[*?%[]") and "no element matching '%s'"
          or "no element '%s'", element)
      end
      for _, e in ipairs(elements) do
        if not many or router:can_read(e, name) then
          found[#found + 1] = e.name .. "." .. name
        end
      end
    end
  end
  return found, named
end

-- Why the handler can't be read, in the words of Click's command line.
local function why(router, handler, problem)
  local is_missing = not problem or problem == "syntax error"
    or problem:find("^no '.*' read handler$")
  if not is_missing then return problem end
  return (router:can_write(handler) and "'%s' is a write handler"
    or "no '%s' handler"):format(handler)
end

--- Print what the read handlers `list` say ("e.count", "Counter.count", "c*.count").
--- False if one couldn't be read, which is reported.
function handlers.print_all(router, list, reporter)
  local before = reporter.count
  local found, named = expand(router, list, reporter)
  for _, handler in ipairs(found) do
    local text, problem = router:handler_read(handler)
    if text then
      if text ~= "" and text:sub(-1) ~= "\n" then text = text .. "\n" end
      io.write(named and handler .. ":\n" or "", text, named and "\n" or "")
    else
      reporter:error("%s", why(router, handler, problem))
    end
  end
  return reporter.count == before
end

--- The exit status that the read handler says: a number, or 0 for true.
function handlers.status(router, handler, reporter)
  local text, problem = router:handler_read(handler)
  if not text then
    reporter:error("%s", problem or ("no '%s' handler"):format(handler))
    return 255
  end
  text = text_of.uncomment(text)
  local value = tonumber(text)
  if value and value % 1 == 0 then return value % 256 end
  if text == "true" or text == "yes" then return 0 end
  if text == "false" or text == "no" then return 1 end
  reporter:error("exit handler value should be integer")
  return 255
end

-- Time -----------------------------------------------------------------------------

--- What the process has used so far: seconds of its own, of the system's for it, and of
--- the clock.
function handlers.clock()
  local ticks = unistd.sysconf(unistd._SC_CLK_TCK)
  local used = posix_times.times()
  local now = time.clock_gettime(time.CLOCK_MONOTONIC)
  return {used.tms_utime / ticks, used.tms_stime / ticks,
    now.tv_sec + now.tv_nsec / 1e9}
end

--- What it has used since, as Click writes it: "0.010u 0.000s 0:01.00".
function handlers.elapsed(since)
  local now = handlers.clock()
  local seconds = now[3] - since[3]
  return ("%.3fu %.3fs %d:%05.2f"):format(now[1] - since[1], now[2] - since[2],
    math.floor(seconds / 60), seconds % 60)
end

return handlers
