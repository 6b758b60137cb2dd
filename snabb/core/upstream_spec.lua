-- SPDX-License-Identifier: Apache-2.0
-- Runs the binary on a small tree laid out like the src folder of Snabb.
local stat = require("posix.sys.stat")
local PERIGEE = "/proc/" .. require("posix.unistd").getpid() .. "/exe"

local FILES = {
  ["core/app.lua"] = "",
  ["core/packet.lua"] = "error('Perigee has this one')",
  ["core/counter.lua"] = [[
module(..., package.seeall)
local answer = 41
function add() error("this must be Perigee's") end
function selftest() print("selftest of", _NAME, answer, type(add), add ~= nil) end
]],
  ["lib/made_up.h"] = "struct made_up { int a; };",
  ["lib/made_up.lua"] = [[
module(..., package.seeall)
require("lib.made_up_h")
function selftest()
  print(require("ffi").sizeof("struct made_up"), require("program.fake.help_inc"))
end
]],
  ["lib/sums.dasl"] = [[
module(..., package.seeall)
local dasm = require("dasm")
|.arch x64
function gen() return dasm.new(1):build() end
]],
  ["lib/yang/schema.lua"] = [[
module(..., package.seeall)
function selftest()
  local t = {}
  for i = 40, 1, -1 do t[("x"):rep(i)] = true end
  for key in pairs(t) do io.write(#key, " ") end
  t = setmetatable({}, {__pairs = function () return next, {own = true} end})
  for key in pairs(t) do print(key) end
end
]],
  ["lib/tsc.lua"] = [[
module(..., package.seeall)
local C = require("ffi").C
function selftest()
  local system, counter = new{source = "system"}, new{source = "rdtsc"}
  local stamps = {C.get_time_ns(), system:to_ns(system:stamp()),
    counter:to_ns(counter:stamp()), C.get_time_ns()}
  for i = 2, 4 do print(math.abs(tonumber(stamps[i] - stamps[i - 1]) - 10000) <= 2) end
end
]],
  ["lib/with-dash.lua"] = "return {dashed = true}",
  ["program/fake/help.inc"] = "the help text",
  ["program/fake/fake.lua"] = [[
module(..., package.seeall)
function run (args)
  assert(require("lib.with_dash").dashed)
  print("fake", args[1], type(packet.allocate), require("lib.ljs").here)
  for name in pairs(setmetatable({}, {__pairs = function ()
    return next, {own = true}
  end})) do print(name) end
  print(require("programs_inc"))
end
]],
  ["../lib/ljsyscall/lib/ljs.lua"] = "return {here = 'from ljsyscall'}",
}

describe("perigee --snabb", function ()
  local top = os.tmpname()
  local dir = top .. "/src"

  local function mkdirs(path)
    for parent in path:gmatch("()/") do stat.mkdir(path:sub(1, parent - 1)) end
  end

  local function perigee(arguments)
    local pipe = io.popen(("timeout 600 %s %s 2>&1; echo status $?")
      :format(PERIGEE, arguments))
    local output = pipe:read("*a")
    pipe:close()
    -- What is said of modules that Perigee has, too (core.both).
    return (output:gsub("^perigee: %-%-snabb %S+ Perigee's own[^\n]*\n", ""))
  end

  setup(function ()
    os.remove(top)
    mkdirs(dir .. "/")
    for name, text in pairs(FILES) do
      local path = (dir .. "/" .. name):gsub("/src/%.%./", "/")
      mkdirs(path)
      local file = assert(io.open(path, "w"))
      file:write(text)
      file:close()
    end
  end)

  teardown(function () os.execute("rm -r " .. top) end)

  it("runs a program of the tree on Perigee's modules", function ()
    local output = perigee(("--snabb %s fake x"):format(dir))
    assert.equal("fake\tx\tfunction\tfrom ljsyscall\nown\nfake\n\nstatus 0\n", output)
  end)

  it("may be given in the environment", function ()
    local pipe = io.popen(("PERIGEE_SNABB=%s timeout 600 %s fake x 2>&1"):format(dir,
      PERIGEE))
    assert.matches("\nfake\tx\tfunction", pipe:read("*a"))
    pipe:close()
    assert.matches("/nosuch: there is no core/app.lua", perigee("--snabb /nosuch ps"))
  end)

  it("may be given as the checkout whose src folder it is", function ()
    assert.equal(perigee(("--snabb %s fake x"):format(dir)),
      perigee(("--snabb %s fake x"):format(dir:match("^(.*)/src$"))))
  end)

  it("makes modules of headers and texts", function ()
    local output = perigee(("--snabb %s snsh -t lib.made_up"):format(dir))
    assert.equal("4\tthe help text\nstatus 0\n", output)
  end)

  it("runs the tree's selftest of a module on Perigee's module", function ()
    local output = perigee(("--snabb %s snsh -t core.counter"):format(dir))
    assert.equal("selftest of\tcore.counter\t41\tfunction\ttrue\nstatus 0\n", output)
  end)

  it("gives modules that rely on it an order of keys", function ()
    local numbers = {}
    for i = 1, 40 do numbers[i] = i .. " " end
    local output = perigee(("--snabb %s snsh -t lib.yang.schema"):format(dir))
    assert.equal(table.concat(numbers) .. "own\nstatus 0\n", output)
  end)

  it("gives selftests that compare clocks one that passes as it is read", function ()
    local output = perigee(("--snabb %s snsh -t lib.tsc"):format(dir))
    assert.equal("true\ntrue\ntrue\nstatus 0\n", output)
  end)

  it("isn't Perigee's own tree", function ()
    local own = require("core.main").root .. "/src"
    assert.equal(("perigee: --snabb %s: that is Perigee's own tree; give one of Snabb's"
      .. "\nstatus 2\n"):format(own), perigee(("--snabb %s fake"):format(own)))
  end)

  it("says what is missing of a folder that is no such tree", function ()
    local output = perigee("--snabb /usr fake")
    assert.equal("perigee: --snabb /usr: there is no core/app.lua in it; give a Snabb "
      .. "checkout or its src folder\nstatus 2\n", output)
  end)
end)
