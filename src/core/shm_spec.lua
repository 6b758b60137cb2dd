-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local unistd = require("posix.unistd")
local stat = require("posix.sys.stat")
local wait = require("posix.sys.wait").wait
local shm = require("core.shm")
local folders = require("core.shm.process_folders")
local shm_root = require("testing.shm_root")

local point_t = ffi.typeof("struct { int x, y, z; }")

-- Run func in a child process; its exit status says whether func returned true.
local function in_child(func)
  local pid = unistd.fork()
  if pid == 0 then
    local ok, result = pcall(func)
    unistd._exit(ok and result and 0 or 1)
  end
  local _, _, status = wait(pid)
  return status == 0, pid
end

local function count(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

-- The names in the directory that begin with a dot.
local function hidden_in(directory)
  local names = {}
  for name in require("posix.dirent").files(directory) do
    if name:find("^%.[^.]") then names[#names + 1] = name end
  end
  return names
end

describe("core.shm", function()
  local dir
  before_each(function() dir = shm_root.make() end)
  after_each(shm_root.remove)

  it("shows others only objects that are whole #slow", function()
    local pid = unistd.fork()
    if pid == 0 then
      pcall(function()
        for _ = 1, 500 do
          shm.unmap(shm.create("/other/object", point_t))
          shm.unlink("/other/object")
        end
      end)
      unistd._exit(0)
    end
    local sizes = {}
    repeat
      local file = io.open(dir .. "/other/object")
      if file then
        sizes[file:seek("end")] = true
        file:close()
      end
    until wait(pid, require("posix.sys.wait").WNOHANG) ~= 0
    sizes[12] = true
    assert.same({[12] = true}, sizes)
    assert.same({}, shm.children("/other"))
  end)

  describe("names", function()
    it("are of this process, or absolute under the root", function()
      local pid = unistd.getpid()
      assert.equal(pid .. "/a/b", shm.resolve("a/b"))
      assert.equal("12/a/b", shm.resolve("/12/a/b"))
      assert.equal("a", shm.resolve("//a"))
      assert.equal(shm.root .. "/" .. pid .. "/a", shm.path("a"))
    end)

    it("follow the pid over a fork", function()
      local parent = unistd.getpid()
      assert.is_true(in_child(function()
        return shm.resolve("a") == unistd.getpid() .. "/a"
          and unistd.getpid() ~= parent
      end))
    end)

    it("can't leave the root", function()
      assert.has_error(function() shm.create("../../x", point_t) end)
      assert.has_error(function() shm.unlink("/") end)
      assert.has_error(function() shm.unlink("/a/../..") end)
    end)
  end)

  describe("objects", function()
    it("are shared by all who map the name, and start as zeros", function()
      local a = shm.create("dir/point", point_t)
      local b = shm.open("dir/point", point_t)
      local c = shm.create("dir/point", point_t)
      assert.same({0, 0, 0}, {a.x, a.y, a.z})
      a.y = 42
      assert.same({42, 42}, {b.y, c.y})
      b.z = 7
      assert.equal(7, a.z)
      for _, object in ipairs {a, b, c} do shm.unmap(object) end
    end)

    it("are shared with other processes", function()
      local point = shm.create("point", point_t)
      local name = "/" .. shm.resolve("point")
      assert.is_true(in_child(function()
        shm.open(name, point_t).x = 99
        return true
      end))
      assert.equal(99, point.x)
      shm.unmap(point)
    end)

    it("can be numbers and pointers, and unmapped", function()
      for _, kind in ipairs{"uint64_t", "int", "double", "bool", "void *"} do
        local object = shm.create("number", kind)
        shm.unmap(object)
        assert.has_error(function () shm.unmap(object) end)
        shm.unlink("number")
      end
    end)

    it("can have a variable length", function()
      local vector_t = "struct { int n; int elements[?]; }"
      local a = shm.create("vector", vector_t, 1000)
      local b = shm.open("vector", vector_t, "readonly", 1000)
      a.elements[999] = 42
      assert.equal(42, b.elements[999])
      shm.unmap(a)
      shm.unmap(b)
      assert.equal(4 * 1001, stat.stat(shm.path("vector")).st_size)
    end)

    it("keep their memory when the name is removed", function()
      local point = shm.create("point", point_t)
      assert.is_truthy(shm.exists("point"))
      assert.is_true(shm.unlink("point"))
      assert.is_falsy(shm.exists("point"))
      point.x = 1
      assert.equal(1, point.x)
      shm.unmap(point)
    end)

    it("are reused, and leave no other files", function()
      local point = shm.create("once/point", point_t)
      point.x = 7
      local hidden = io.open(shm.path("once/.point." .. folders.own_suffix()), "w")
      hidden:close() -- as if it had been killed there before, under the same number
      local same = shm.create("once/point", point_t)
      assert.equal(7, same.x)
      shm.unmap(point)
      shm.unmap(same)
      shm.unmap(shm.create("once/more/deep/point", point_t))
      local names = {}
      for _, name in ipairs(require("posix.dirent").dir(shm.path("once"))) do
        if not name:find("^%.+$") then names[#names + 1] = name end
      end
      table.sort(names)
      assert.same({"more", "point"}, names)
    end)

    it("are this user's alone", function()
      shm.unmap(shm.create("point", point_t))
      assert.equal(tonumber("600", 8), stat.stat(shm.path("point")).st_mode % 512)
    end)

    it("say why they can't be had", function()
      local function message(...)
        local ok, err = pcall(...)
        assert.is_false(ok)
        return tostring(err)
      end
      assert.matches("/none: No such file", message(shm.open, "none", point_t))
      shm.unmap(shm.create("small", "int[1]"))
      assert.matches("has 4 bytes, not the 12", message(shm.open, "small", point_t))
      assert.matches("Is a directory", message(shm.create, "/", point_t))
      shm.root = "/proc/none"
      assert.matches("can't make .*/proc/none", message(shm.create, "a", point_t))
    end)

    it("are refused where there is no room for them", function()
      local resource, signal = require("posix.sys.resource"), require("posix.signal")
      assert.is_true(in_child(function()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, {rlim_cur = 4096, rlim_max = 4096})
        local ok, err = pcall(shm.create, "large", "char[8192]")
        return not ok and tostring(err):find("can't reserve 8192 bytes for .*: ")
      end))
    end)

    it("can be unmapped once", function()
      local point = shm.create("point", point_t)
      shm.unmap(point)
      assert.has_error(function() shm.unmap(point) end)
    end)

    it("don't pile up mappings or files #slow", function()
      local before, mapped = #shm.children("/"), count(shm.mappings)
      local objects = {}
      for i = 1, 500 do objects[i] = shm.create("many/" .. i, "uint64_t[1]") end
      assert.equal(500, #shm.children("many"))
      for _, object in ipairs(objects) do shm.unmap(object) end
      assert.equal(mapped, count(shm.mappings))
      assert.is_true(shm.unlink("many"))
      assert.same({}, shm.children("many"))
      assert.equal(before + 1, #shm.children("/"))
    end)
  end)

  it("makes aliases, and removes them without their targets", function()
    local point = shm.create("real/point", point_t)
    shm.alias("links/point", "real/point")
    local same = shm.open("links/point", point_t)
    same.x = 5
    assert.equal(5, point.x)
    assert.is_true(shm.unlink("links"))
    assert.is_truthy(shm.exists("real/point"))
    shm.alias("links/all", "real")
    assert.is_true(shm.unlink("links"))
    assert.same({"point"}, shm.children("real"))
    shm.unmap(point)
    shm.unmap(same)
  end)

  it("lists children in order, without hidden ones", function()
    for _, name in ipairs {"d/b", "d/a", "d/.c"} do
      shm.unmap(shm.create(name, "int[1]"))
    end
    assert.same({"a", "b"}, shm.children("d"))
    assert.same({}, shm.children("none"))
  end)

  describe("at the end", function()
    local setenv = require("posix.stdlib").setenv
    after_each(function() setenv("SNABB_SHM_KEEP", nil) end)

    it("cleanup removes this process's directory alone", function()
      shm.unmap(shm.create("a/b", "int[1]"))
      shm.unmap(shm.create("/1/c", "int[1]"))
      shm.cleanup()
      assert.same({"1"}, shm.children("/"))
      assert.has_no_error(shm.cleanup)
    end)

    it("cleanup leaves it with SNABB_SHM_KEEP, and sweep does too", function()
      local _, pid = in_child(function()
        setenv("SNABB_SHM_KEEP", "1")
        shm.create("a", "int[1]")
        shm.cleanup()
        return true
      end)
      assert.equal(0, shm.sweep())
      assert.same({tostring(pid)}, shm.children("/"))
    end)

    it("sweep removes what dead processes left, and their names", function()
      local ok, pid = in_child(function()
        shm.create("a/b", "int[1]")
        shm.alias("/by-name/dead", "")
        -- As if it were killed before it gives the file its name:
        shm.unmap(shm.create("/shared/.queue." .. folders.own_suffix(), "int[1]"))
        return true
      end)
      assert.is_true(ok)
      shm.unmap(shm.create("mine", "int[1]"))
      shm.alias("/by-name/alive", "")
      shm.unmap(shm.create("/1/init", "int[1]"))
      assert.is_truthy(shm.exists("/" .. pid .. "/a/b"))
      local suffix = folders.own_suffix()
      shm.unmap(shm.create("/shared/.queue." .. suffix, "int[1]"))
      assert.equal(1, shm.sweep())
      assert.is_falsy(shm.exists("/" .. pid))
      assert.same({".queue." .. suffix}, hidden_in(dir .. "/shared"))
      assert.is_truthy(shm.exists("mine"))
      assert.is_truthy(shm.exists("/1/init"))
      assert.same({"alive"}, shm.children("/by-name"))
    end)
  end)
end)

describe("the root", function()
  local tree = require("core.shm.tree")
  local setenv = require("posix.stdlib").setenv
  local chosen_before = os.getenv("SNABB_SHM_ROOT")
  after_each(function() setenv("SNABB_SHM_ROOT", chosen_before) end)

  it("is SNABB_SHM_ROOT", function()
    setenv("SNABB_SHM_ROOT", "/some/where//")
    assert.equal("/some/where", tree.choose_root())
  end)

  it("is otherwise a place this user can write to", function()
    setenv("SNABB_SHM_ROOT", nil)
    local root = tree.choose_root()
    assert.matches("/snabb", root)
    local writable = tree.exists(root) and root or root:match("^(.*)/")
    assert.equal(0, unistd.access(writable, "w"))
  end)

  it("may be relative, and several directories deep", function()
    local before = unistd.getcwd()
    local dir = require("posix.stdlib").mkdtemp("/tmp/shm_spec.XXXXXX")
    unistd.chdir(dir)
    tree.make_root("a/b")
    unistd.chdir(before)
    assert.is_true(tree.exists(dir .. "/a/b"))
    tree.remove(dir)
  end)

  it("in /tmp isn't taken from another's hands", function()
    local link = os.tmpname()
    os.remove(link)
    assert(unistd.link("/var", link, true))
    local ok, err = pcall(tree.make_root, link)
    os.remove(link)
    assert.is_false(ok)
    assert.matches("is not a directory of this user's", tostring(err))
  end)
end)
