-- SPDX-License-Identifier: Apache-2.0

local process = require("core.lib.process")
local unistd = require("posix.unistd")

describe("dogetopt", function()
  it("calls the handlers in order and returns the rest", function()
    local seen = {}
    local rest = process.dogetopt({"-v", "--duration", "3", "in", "-v"}, {
      v = function(value) seen[#seen + 1] = {"v", value} end,
      D = function(value) seen[#seen + 1] = {"D", value} end,
    }, "vD:", {duration = "D"})
    assert.same({{"v"}, {"D", "3"}}, seen)
    assert.same({"in", "-v"}, rest)
  end)

  it("needs a handler for each option", function()
    assert.has_error(function() process.dogetopt({"-v"}, {}, "v") end,
      "option 'v' has no handler")
  end)
end)

describe("have_module", function()
  it("finds without running", function()
    assert.is_true(process.have_module("core.lib.process"))
    assert.is_false(process.have_module("core.no_such_module"))
    local loaders = #package.loaders
    package.loaders[loaders + 1] = function(name)
      if name == "found.by.test" then return function() error("was run") end end
    end
    assert.is_true(process.have_module("found.by.test"))
    package.loaders[loaders + 1] = nil
    package.preload["found.by.test"] = nil
  end)
end)

describe("the process", function()
  it("reads its environment; empty is unset", function()
    local setenv = require("posix.stdlib").setenv
    setenv("PERIGEE_SPEC", "x")
    assert.equal("x", process.getenv("PERIGEE_SPEC"))
    setenv("PERIGEE_SPEC", "")
    assert.is_nil(process.getenv("PERIGEE_SPEC"))
    setenv("PERIGEE_SPEC", nil)
    assert.is_nil(process.getenv("PERIGEE_SPEC"))
  end)

  it("checks for root", function()
    local root_check = function() process.root_check("sentence") end
    if unistd.geteuid() == 0 then
      assert.has_no_error(root_check)
    else
      assert.has_error(root_check)
    end
  end)

  it("becomes another program", function()
    local read_end, write_end = unistd.pipe()
    local pid = unistd.fork()
    if pid == 0 then
      unistd.dup2(write_end, unistd.STDOUT_FILENO)
      process.execv("/bin/sh", {"renamed", "-c", 'echo "$0 $1"', "name", "argument"})
      unistd._exit(1)
    end
    unistd.close(write_end)
    assert.equal("name argument\n", unistd.read(read_end, 100))
    unistd.close(read_end)
    local _, reason, status = require("posix.sys.wait").wait(pid)
    assert.same({"exited", 0}, {reason, status})
  end)

  it("gets the reason when it can't", function()
    local result, reason = process.execv("/nonexistent")
    assert.is_nil(result)
    assert.matches("No such file", reason)
  end)

  it("has a compiler barrier", function()
    assert.has_no_error(process.compiler_barrier)
  end)
end)
