-- SPDX-License-Identifier: Apache-2.0
local click = require("testing.click")
local files = require("core.lib.files")
local handlers = require("click.router.handlers")
local stat = require("posix.sys.stat")

local function put(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function get(path) return files.readfile(path, "*a") end

describe("what reaches into the kernel", function ()
  local folder

  before_each(function ()
    folder = os.tmpname()
    os.remove(folder)
    stat.mkdir(folder)
  end)

  after_each(function () os.execute("rm -r " .. folder) end)

  describe("KernelHandlerProxy", function ()
    local function proxy(arguments)
      local unit = click.unit(("KernelHandlerProxy(%s)"):format(arguments or ""),
        {inputs = 0, outputs = 0})
      unit.element.folder = folder .. "/click"
      return unit
    end

    local function read(unit, name)
      return handlers.read(unit.router, unit.element, name)
    end

    it("reads and writes the files of handlers", function ()
      stat.mkdir(folder .. "/click")
      stat.mkdir(folder .. "/click/x")
      put(folder .. "/click/list", "1\nx\n")
      put(folder .. "/click/x/count", "17")
      local unit = proxy()
      assert.equal("17", read(unit, "x.count"))
      assert.equal("1\nx\n", read(unit, "list"))
      assert.equal("1\nx\n", read(unit, ".list"))
      assert.is_true(handlers.write(unit.router, unit.element, "x.count", "0"))
      assert.equal("0", get(folder .. "/click/x/count"))
      stat.mkdir(folder .. "/click/.h")
      stat.mkdir(folder .. "/click/x/.h")
      put(folder .. "/click/x/.h/count", "18")
      assert.equal("18", read(unit, "x.count"))
    end)

    it("says what isn't there, and leaves other files alone", function ()
      local unit = proxy("VERBOSE true")
      assert.same({nil, "No router installed"}, {read(unit, "x.count")})
      stat.mkdir(folder .. "/click")
      assert.same({nil, "No element named 'x'"}, {read(unit, "x.count")})
      stat.mkdir(folder .. "/click/x")
      assert.same({nil, "No handler named 'x.count'"}, {read(unit, "x.count")})
      assert.same({nil, "no 'e...' read handler"}, {read(unit, "..")})
      put(folder .. "/secret", "secret")
      for _, name in ipairs{"x./secret", "../secret", "x...", "x.../secret"} do
        assert.is_nil(read(unit, name))
      end
      assert.equal("No router installed", unit.said[1])
    end)
  end)

  describe("KernelFilter", function ()
    local function filter(arguments)
      put(folder .. "/iptables", ("#!/bin/sh\necho \"$*\" >> %s/said\n"):format(folder)
        .. "case $* in *broken*) exit 1 ;; esac\n")
      stat.chmod(folder .. "/iptables", tonumber("755", 8))
      return click.unit(("KernelFilter(%s, IPTABLES_COMMAND %s/iptables)"):format(
        arguments, folder), {inputs = 0, outputs = 0})
    end

    it("adds rules, and removes them at the end", function ()
      local unit = filter("drop dev none0, drop dev none1")
      assert.same({}, unit.errors)
      unit.element:cleanup()
      assert.equal("-A INPUT -i none0 -j DROP\n-A INPUT -i none1 -j DROP\n"
        .. "-D INPUT -i none1 -j DROP\n-D INPUT -i none0 -j DROP\n",
        get(folder .. "/said"))
    end)

    it("removes those that were added, if one can't be", function ()
      local unit = filter("drop dev none0, drop dev broken0, drop dev none1")
      assert.matches("the rule for broken0 isn't taken", unit.errors[1], 1, true)
      unit.element:cleanup()
      assert.equal("-A INPUT -i none0 -j DROP\n-A INPUT -i broken0 -j DROP\n"
        .. "-D INPUT -i none0 -j DROP\n", get(folder .. "/said"))
    end)

    it("takes only names of devices", function ()
      for argument, problem in pairs{
        ["drop dev"] = "arguments must follow 'drop dev DEVNAME'",
        ["allow dev none0"] = "arguments must follow 'drop dev DEVNAME'",
        ["drop dev \"x; reboot\""] = "'x; reboot' is no name of a device",
        ["drop dev $(reboot)"] = "'$(reboot)' is no name of a device",
      } do
        assert.same({problem}, filter(argument).errors)
      end
    end)
  end)
end)
