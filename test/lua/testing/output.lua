-- SPDX-License-Identifier: Apache-2.0
-- What `perigee test` prints: busted's plain output. Besides, a test that makes no
-- assertion fails, and the counts are written to a file where one is named, so that
-- tools/test needn't read them out of what tests print.

local busted = require("busted")
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

local function write_counts(file, handler)
  local out = assert(io.open(file, "w"))
  out:write(("%d %d %d %d\n"):format(handler.successesCount, handler.failuresCount,
    handler.errorsCount, handler.pendingsCount))
  out:close()
end

--- A handler for busted's --output. The file of the counts is its first argument
--- (-Xoutput): how many tests succeeded and failed, errors, and how many are pending.
return function (options)
  count_assertions()
  busted.subscribe({"test", "start"}, function ()
    asserted = 0
    return nil, true
  end, {priority = 1})
  local handler = require("busted.outputHandlers.plainTerminal")(options)
  local base_end = handler.baseTestEnd
  function handler.baseTestEnd(element, parent, status, trace)
    if status == "success" and asserted == 0 then
      busted.publish({"failure", "it"}, element, parent, MESSAGE, trace)
      status = "failure"
    end
    return base_end(element, parent, status, trace)
  end
  local file = options.arguments and options.arguments[1]
  local function write()
    if file then write_counts(file, handler) end
    return nil, true
  end
  busted.subscribe({"file", "end"}, write)
  busted.subscribe({"suite", "end"}, write)
  return handler
end
