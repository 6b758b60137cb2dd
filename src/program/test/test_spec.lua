-- SPDX-License-Identifier: Apache-2.0

local process = require("core.lib.process")
local stat = require("posix.sys.stat")
local testing = require("testing.support")
local unistd = require("posix.unistd")

-- What `perigee test OPTIONS` says of a spec file with this code, and its exit status.
local function test(code, ...)
  local base = os.tmpname()
  local name = base .. "_spec.lua"
  local file = assert(io.open(name, "w"))
  file:write(code)
  file:close()
  local said, status = testing.perigee{"test", name, ...}
  os.remove(base)
  os.remove(name)
  return said, status
end

describe("test", function ()
  it("runs specs inside the runtime, with packets", function ()
    local said, status = test([[
      it("has packets", function ()
        local p = packet.from_string("abc")
        assert.equal(3, p.length)
        packet.free(p)
      end)]])
    assert.matches("1 success / 0 failures / 0 errors", said)
    assert.equal(0, status)
  end)

  it("finds modules beside a spec that isn't Perigee's own", function ()
    local said, status = test([[
      local here = debug.getinfo(1, "S").source:match("^@(.*)_spec%.lua$")
      it("finds its own file", function ()
        local name = here:match("[^/]*$") .. "_spec"
        assert.is_truthy(package.searchpath(name, package.path))
      end)]])
    assert.matches("1 success / 0 failures / 0 errors", said)
    assert.equal(0, status)
  end)

  it("refuses what is no spec, or isn't there", function ()
    local said, status = testing.perigee{"test", "nothing"}
    assert.equal("perigee: there is no spec file or folder 'nothing'\n", said)
    assert.equal(2, status)
    said, status = testing.perigee{"test", "/etc/passwd"}
    assert.equal("perigee: '/etc/passwd' is no spec file: those end in .lua\n", said)
    assert.equal(2, status)
  end)

  it("ends with status 1 when one fails, or can't be read", function ()
    local said, status = test("it('fails', function () assert.equal(1, 2) end)")
    assert.matches("1 failure", said)
    assert.equal(1, status)
    said, status = test("it('breaks', function () error('boom') end)")
    assert.matches("boom", said)
    assert.equal(1, status)
    assert.equal(1, select(2, test("this isn't Lua")))
    said, status = test([[
      it("works", function ()
        require("core.native").pg_note_failure()
        assert(true)
      end)]])
    assert.matches("1 success", said)
    assert.equal(0, status)
  end)

  it("has a test fail that asserts nothing", function ()
    local said, status = test([[
      it("asserts nothing", function () local _ = 1 + 1 end)
      it("asserts", function () assert(1 == 1) end)
      it("asserts too", function () assert.is_true(1 == 1) end)]])
    assert.matches("2 successes / 1 failure / 0 errors", said)
    assert.matches("asserts nothing\nthe test asserts nothing", said)
    assert.equal(1, status)
  end)

  it("leaves out what has a tag", function ()
    local code = [[
      it("is slow #slow", function () assert.equal(1, 2) end)
      it("is fast", function () assert.equal(1, 1) end)]]
    assert.matches("1 success / 0 failures", (test(code, "--exclude-tags=slow")))
  end)

  it("runs each file once in processes that share them", function ()
    local folder = os.tmpname()
    os.remove(folder)
    assert(stat.mkdir(folder))
    local files = {}
    for i = 1, 6 do
      files[i] = ("%s/%d_spec.lua"):format(folder, i)
      local file = assert(io.open(files[i], "w"))
      file:write(("it('is', function () assert(true); print('ran %d.') end)"):format(i))
      file:close()
    end
    assert(stat.mkdir(folder .. "/taken"))
    local said = ""
    for i = 1, 2 do
      local text, status = testing.perigee{"test", "--share=" .. folder .. "/taken",
        unpack(files, 1, i == 1 and 3 or 6)}
      assert.equal(0, status, text)
      assert.matches("3 successes / 0 failures", text)
      said = said .. text
    end
    for i = 1, 6 do
      assert.equal(1, select(2, said:gsub(("ran %d%%."):format(i), "")), said)
    end
    assert.is_true(process.succeeds("rm -r " .. folder))
    assert.equal("perigee: --share=/none: there is no such folder\n",
      (testing.perigee{"test", "--share=/none", files[1]}))
  end)

  -- What is written with --outcomes for a spec file with this code: "kind what" of each
  -- record, without the file's name.
  local function results(code)
    local name, list = os.tmpname(), {}
    local _, status = test(code, "--outcomes=" .. name)
    local file
    for line in io.lines(name) do
      local r = require("cjson").decode(line)
      if r.files then
        assert.equal(1, #r.files)
        file = r.files[1]
      elseif r.test then
        assert.equal(file, r.file)
        list[#list + 1] = r.status .. " " .. r.test:gsub("^/tmp/.*", "FILE")
      elseif r.done then
        assert.equal(file, r.done)
        assert.is_true(r.wall > 0 and r.cpu >= 0)
        list[#list + 1] = "done"
      else
        list[#list + 1] = r.begin == file and "begin" or r.ended and "ended"
      end
    end
    os.remove(name)
    return list, status
  end

  it("writes what becomes of each test to a file", function ()
    assert.same({"begin", "success it succeeds", "failure it fails", "error it breaks",
      "failure it asserts nothing", "pending is missing", "done", "ended"}, (results([[
        describe("it", function ()
          it("succeeds", function () assert.equal(1, 1) end)
          it("fails", function () assert.equal(1, 2) end)
          it("breaks", function () error("broken") end)
          it("asserts nothing", function () end)
        end)
        pending("is missing")]])))
    assert.same({"begin", "error its setup", "done", "ended"}, (results([[
        describe("its", function ()
          setup(function () error("broken") end)
          it("isn't run", function () assert.equal(1, 1) end)
        end)]])))
    assert.same({"begin", "error FILE", "done", "ended"}, (results("error('at once')")))
  end)

  it("has written what was there before it dies", function ()
    local list, status = results([[
      it("succeeds", function () assert.equal(1, 1) end)
      it("dies", function () os.execute("kill -9 $PPID") end)]])
    assert.same({"begin", "success succeeds"}, list)
    assert.equal(137, status)
  end)

  it("stops the apps that a spec left running", function ()
    local said, status = test([[
      it("starts an app", function ()
        local c = config.new()
        assert.is_nil(engine.app_table.a)
        local app = {stop = function () io.stderr:write("stopped\n") end}
        config.app(c, "a", {new = function () return app end})
        engine.configure(c)
      end)]])
    assert.matches("stopped\n", said)
    assert.equal(0, status)
  end)

  it("says what to install where there is no busted", function ()
    local name = testing.temporary([[
      package.preload["busted.runner"] = function () error("there is none:", 0) end
      require("program.test.test").run{}]])
    local said, status = testing.perigee{"run", name}
    os.remove(name)
    assert.matches("perigee: specs need busted, which can't be loaded "
      .. "%(apt%-get install lua%-busted%): there is none\n$", said)
    assert.equal(1, status)
  end)

  it("runs each spec of a folder once, though links lead in circles", function ()
    local folder = os.tmpname()
    os.remove(folder)
    stat.mkdir(folder)
    stat.mkdir(folder .. "/in")
    for _, name in ipairs{"a", "b", "c"} do
      unistd.link("..", folder .. "/in/" .. name, true)
    end
    local said, status = testing.perigee{"test", folder}
    assert.equal("perigee: there are no specs (*_spec.lua) in " .. folder .. "\n", said)
    assert.equal(1, status)
    local file = assert(io.open(folder .. "/in/one_spec.lua", "w"))
    file:write("it('works', function () assert.equal(1, 1) end)")
    file:close()
    said = testing.perigee{"test", folder}
    assert.matches("1 success / 0 failures / 0 errors", said)
    os.execute("rm -r " .. folder)
  end)
end)
