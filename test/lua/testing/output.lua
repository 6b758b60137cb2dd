-- SPDX-License-Identifier: Apache-2.0
-- What `perigee test` prints: busted's plain output. Besides, a test that makes no
-- assertion fails. And where a file is named, what becomes of each file and test is
-- written to it at once, one JSON object a line: tools/test needn't read it out of what
-- tests print, where busted shortens long paths, and knows what hasn't run if this
-- process dies.

local busted = require("busted")
local C = require("core.native")
local luassert = require("luassert")
local namespaces = require("luassert.namespaces")

local MESSAGE = "the test asserts nothing"

local asserted = 0

local function counted(call)
  return function (...)
    asserted = asserted + 1
    return call(...)
  end
end

-- assert(x) is a call of luassert's table; assert.equal(...) is one of an assertion.
local function count_assertions()
  for _, assertion in pairs(namespaces.assertion) do
    assertion.callback = counted(assertion.callback)
  end
  local meta = getmetatable(luassert)
  meta.__call = counted(meta.__call)
end

-- The time, and the CPU time of this process and of its children that have ended, in
-- seconds (proc(5): /proc/PID/stat, utime to cstime).
local function seconds()
  local unistd = require("posix.unistd")
  local hz = unistd.sysconf(unistd._SC_CLK_TCK)
  local file = assert(io.open("/proc/self/stat"))
  local ticks = 0
  local fields = file:read("*a"):match(".*%) (.*)")
  file:close()
  local at = 0
  for field in fields:gmatch("%S+") do
    at = at + 1
    if at >= 12 and at <= 15 then ticks = ticks + tonumber(field) end
  end
  return C.pg_monotonic(), ticks / hz
end

-- The path of the spec file in which an element stands.
local function file_of(element)
  while element and element.descriptor ~= "file" do element = busted.parent(element) end
  return element and element.name
end

-- Writes records of these kinds:
--   {"files": [PATH, ...]}                        all that will be run
--   {"begin": PATH}                               now it runs
--   {"test": NAME, "file": PATH, "status": success, failure, error or pending}
--   {"done": PATH, "wall": SECONDS, "cpu": SECONDS}
--   {"ended": true}                               all has been run
local function record(name, handler)
  local json = require("cjson")
  local out = assert(io.open(name, "w"))
  local wall, cpu

  local function write(item)
    out:write(json.encode(item), "\n")
    out:flush()
  end

  local function at(event, call)
    busted.subscribe(event, function (...)
      call(...)
      return nil, true
    end)
  end

  local function outcome(element, status)
    local file = file_of(element) or element.name
    local test = element.descriptor ~= "file" and element.descriptor
      and handler.getFullName(element) or file or "perigee test"
    write{test = test, file = file or "perigee test", status = status}
  end

  -- What goes wrong outside of tests: in a file's own code, in setup() and so on.
  local function broken(element)
    if element.descriptor ~= "it" then outcome(element, "error") end
  end

  at({"suite", "start"}, function (suite)
    local files = {}
    for _, child in ipairs(busted.children(suite)) do
      files[#files + 1] = child.name
    end
    write{files = #files > 0 and files or nil}
  end)
  at({"file", "start"}, function (file)
    wall, cpu = seconds()
    write{begin = file.name}
  end)
  at({"file", "end"}, function (file)
    local now, spent = seconds()
    write{done = file.name, wall = now - wall, cpu = spent - cpu}
  end)
  at({"suite", "end"}, function () write{ended = true} end)
  at({"error"}, broken)
  at({"failure"}, broken)
  return outcome
end

-- A signal that ends the program has ended a test, or what is about it. busted would
-- take that for an error, and go on.
local function leave_if_interrupted()
  if C.pg_ended_by() ~= 0 then os.exit(1) end
end

--- A handler for busted's --output. Its first argument (-Xoutput) is the file for what
--- becomes of each test.
return function (options)
  count_assertions()
  busted.subscribe({"test", "start"}, function ()
    asserted = 0
    return nil, true
  end, {priority = 1})
  for _, what in ipairs{"error", "failure"} do
    busted.subscribe({what}, function ()
      leave_if_interrupted()
      return nil, true
    end, {priority = 1})
  end
  local handler = require("busted.outputHandlers.plainTerminal")(options)
  local file = options.arguments and options.arguments[1]
  local outcome = file and record(file, handler)
  local base_end = handler.baseTestEnd
  function handler.baseTestEnd(element, parent, status, trace)
    leave_if_interrupted()
    if status == "success" and asserted == 0 then
      busted.publish({"failure", "it"}, element, parent, MESSAGE, trace)
      status = "failure"
    end
    if outcome then outcome(element, status) end
    return base_end(element, parent, status, trace)
  end
  return handler
end
