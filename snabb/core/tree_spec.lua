-- SPDX-License-Identifier: Apache-2.0
-- Runs the binary on a tree of Snabb's layout that somebody has beside Perigee (-p).

local stat = require("posix.sys.stat")
local testing = require("testing.support")

local FILES = {
  ["program/fake/README.config.inc"] = "two dots",
  ["program/fake/sub-folder/README.inc"] = "dashed",
  ["program/fake/model.yang"] = "module model {}",
  ["program/fake/sum.h"] = "int fake_sum(int a, int b);",
  ["program/fake/sum.c"] = '#include "lib/one.h"\nint fake_sum(int a, int b)'
    .. "{ return a + b + ONE; }",
  ["lib/one.h"] = "enum { ONE = 1 };",
  ["program/fake/fake.lua"] = [[
module(..., package.seeall)
require("program.fake.sum_h")
require("core.packet_h") require("core.link_h") require("core.counter_h")
function run ()
  print(require("program.fake.README_config_inc"),
    require("program.fake.sub_folder.README_inc"), require("program.fake.model_yang"))
  print(require("ffi").C.fake_sum(2, 3), #setmetatable({}, {__len = function ()
    return 42
  end}), core.packet == packet)
  print(os.execute("exit 3"))
  print(io.popen("exit 4"):close())
  print(io.popen("kill -9 $$"):close())
  print(io.popen("true"):close())
  print(table.unpack(table.pack(1, nil, 3)), table.pack(1, nil).n)
  io.write("a"):write("b", "\n")
end
]],
  ["lib/yang/path_data.lua"] = [[
local tail_name = "softwire"
return function ()
  error("List '"..tail_name"' has no entry matching the query")
end]],
  ["lib/fibers/sched.lua"] = [[
return function (now, next_time) return math.min(10, next_time - now) end]],
  ["program/slip/slip.lua"] = [[
return {run = function ()
  print(select(2, pcall(require("lib.yang.path_data"))))
  local timeout = require("lib.fibers.sched")
  print(timeout(7, 5), timeout(5, 5.5), timeout(5, 50))
end}]],
  ["program/broken/broken.lua"] = "return {run = function () end}",
  ["program/broken/broken.c"] = "int broken(void) { return no_such_name; }",
  ["program/ring/ring.lua"] = "return {run = function () end}",
  ["program/ring/ring.c"] = '#include "core/packet.h"\n',
  ["program/machine/machine.lua"] = "require('program.machine.code')",
  ["program/machine/code.dasl"] = "|.arch x64\n",
}

describe("perigee -p #slow", function ()
  local top = os.tmpname()
  local dir = top .. "/somebody's"

  local function perigee(...)
    return testing.perigee{"-p", dir, ...}
  end

  setup(function ()
    os.remove(top)
    for name, text in pairs(FILES) do
      local path = dir .. "/" .. name
      for parent in path:gmatch("()/") do stat.mkdir(path:sub(1, parent - 1)) end
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
    end
    require("posix.stdlib").setenv("XDG_CACHE_HOME", top .. "/cache")
  end)

  teardown(function ()
    require("posix.stdlib").setenv("XDG_CACHE_HOME", nil)
    os.execute("rm -r " .. top)
  end)

  it("says what isn't in a configuration, where Snabb calls a string", function ()
    local said = perigee("slip")
    assert.matches("List 'softwire' has no entry matching the query", said, 1, true)
  end)

  it("lets no scheduler of fibers sleep for ever, whose tasks have waited", function ()
    assert.matches("\n0\t0.5\t10\n", (perigee("slip")))
  end)

  it("makes modules of texts, compiles C, and has Lua 5.2's library", function ()
    for _ = 1, 2 do -- compiled, then as it is in the cache
      local said, status = perigee("fake")
      assert.equal("two dots\tdashed\tmodule model {}\n6\t42\ttrue\nnil\texit\t3\n"
        .. "nil\texit\t4\nnil\tsignal\t9\ntrue\texit\t0\n1\t2\nab\n", said)
      assert.equal(0, status)
    end
  end)

  it("compiles C again when a header has changed", function ()
    local file = assert(io.open(dir .. "/lib/one.h", "w"))
    file:write("enum { ONE = 100 };")
    file:close()
    local later = os.time() + 10
    require("posix.utime").utime(dir .. "/lib/one.h", later, later)
    assert.matches("\n105\t42\ttrue\n", (perigee("fake")))
  end)

  it("says what of C is wrong, or missing", function ()
    local said, status = perigee("broken")
    assert.equal(1, status)
    assert.matches("can't compile .*broken.c: .*no_such_name", said)
    assert.is_nil(said:find("traceback", 1, true))
    said = perigee("ring")
    assert.matches("ring.c: .*not laid out as Snabb's are", said)
    require("posix.stdlib").setenv("CC", "no-such-cc")
    said = perigee("broken")
    require("posix.stdlib").setenv("CC", nil)
    assert.matches("there is no C compiler 'no-such-cc'; install gcc", said, 1, true)
    said = perigee("machine")
    assert.matches("code.dasl needs DynASM, which isn't there: give the src", said)
  end)

  it("refuses a whole checkout, and says what is meant", function ()
    stat.mkdir(top .. "/checkout")
    stat.mkdir(top .. "/checkout/src")
    stat.mkdir(top .. "/checkout/src/core")
    assert(io.open(top .. "/checkout/src/core/app.lua", "w")):close()
    stat.mkdir(top .. "/checkout/src/program")
    stat.mkdir(top .. "/checkout/src/program/snsh")
    for _, given in ipairs{"/checkout", "/checkout/src"} do
      local said, status = testing.perigee{"-p", top .. given, "fake"}
      assert.equal(2, status)
      assert.matches("whole checkout of Snabb; use --snabb " .. top .. "/checkout/src,",
        said, 1, true)
    end
  end)
end)
