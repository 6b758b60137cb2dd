-- SPDX-License-Identifier: Apache-2.0

local unistd = require("posix.unistd")
local files = require("core.lib.files")

describe("files", function()
  local dir

  setup(function()
    dir = require("posix.stdlib").mkdtemp("/tmp/files_spec.XXXXXX")
    assert(files.writefile(dir .. "/b", "first\nsecond\n"))
    assert(files.writefile(dir .. "/a", ""))
    assert(files.writefile(dir .. "/.hidden", ""))
    assert(unistd.link("b", dir .. "/z", true))
  end)

  teardown(function()
    for _, name in ipairs {"a", "b", "z", ".hidden"} do
      unistd.unlink(dir .. "/" .. name)
    end
    unistd.rmdir(dir)
  end)

  it("reads and writes whole files", function()
    assert.equal("first\nsecond\n", files.readfile(dir .. "/b", "*a"))
    assert.equal("first", files.firstline(dir .. "/b"))
    assert.is_nil(files.firstline(dir .. "/a"))
  end)

  it("reads no more than is to be read of what doesn't end", function ()
    assert.same({nil, "/dev/zero: it has more than 256 MB"}, {files.text("/dev/zero")})
    local file = io.open("/dev/zero", "rb")
    assert.same({nil, "it has more than 2 MB"}, {files.rest(file, 2 * 2 ^ 20)})
    assert.same({nil, "a line has more than a megabyte"}, {files.line(file)})
    file:close()
  end)

  it("reads an open file on, a line or all that is left", function ()
    assert(files.writefile(dir .. "/a", "a\0b\n\nthe\nrest\n"))
    local file = io.open(dir .. "/a", "rb")
    assert.equal("a\0b", files.line(file))
    assert.equal("", files.line(file))
    assert.equal("the\nrest\n", files.rest(file))
    assert.equal("", files.rest(file))
    assert.same({}, {files.line(file)})
    file:close()
    assert(files.writefile(dir .. "/a", ("x"):rep(2 ^ 20) .. "\nlast"))
    file = io.open(dir .. "/a", "rb")
    assert.equal(2 ^ 20, #files.line(file))
    assert.equal("last", files.line(file))
    file:close()
    assert(files.writefile(dir .. "/a", ""))
    local folder = io.open(dir)
    assert.same({nil, "Is a directory"}, {files.rest(folder)})
    folder:close()
  end)

  it("reads lines, the last with or without its end", function ()
    for text, lines in pairs{[""] = {}, ["a\n\nb"] = {"a", "", "b"},
                             ["a\n\n"] = {"a", ""}} do
      assert(files.writefile(dir .. "/a", text))
      assert.same(lines, files.lines(dir .. "/a"))
    end
    assert.same({nil, dir .. ": Is a directory"}, {files.lines(dir)})
    local _, why = files.lines(dir .. "/none")
    assert.matches("/none: No such file", why, 1, true)
    assert(files.writefile(dir .. "/a", ""))
  end)

  it("says why a file can't be read or written", function()
    local ok, err = pcall(files.readfile, dir .. "/none", "*a")
    assert.is_false(ok)
    assert.matches("can't open .*/none: No such file", tostring(err))
    local written, reason = files.writefile("/dev/full", "x")
    assert.is_nil(written)
    assert.matches("No space left", reason)
  end)

  it("saves all of a text, or says why not", function()
    files.save(dir .. "/a", "all of it")
    assert.equal("all of it", files.readfile(dir .. "/a", "*a"))
    for path, reason in pairs{["/dev/full"] = "/dev/full: No space left on device",
                              [dir .. "/none/x"] = "none/x: No such file"} do
      local ok, err = pcall(files.save, path, "x")
      assert.is_false(ok)
      assert.matches("can't write .*" .. reason, tostring(err))
    end
  end)

  it("exchanges a text, or leaves the old one", function()
    files.exchange(dir .. "/a", "new")
    assert.equal("new", files.readfile(dir .. "/a", "*a"))
    assert.is_false(files.can_read(dir .. "/a.new"))
    -- What isn't a file of its own stays what it is.
    files.exchange(dir .. "/z", "by the link\n")
    assert.equal("b", files.readlink(dir .. "/z"))
    assert.equal("by the link", files.firstline(dir .. "/b"))
    files.replace(dir .. "/b", "first\nsecond\n")
    local ok, err = pcall(files.exchange, "/dev/full", "x")
    assert.is_false(ok)
    assert.matches("can't write /dev/full: No space left", tostring(err))
  end)

  it("knows what can be opened, and changes nothing to find out", function()
    assert.is_true(files.can_read(dir .. "/b"))
    assert.is_false(files.can_read(dir .. "/none"))
    assert.is_true(files.can_write(dir .. "/b"))
    assert.is_true(files.can_open(dir .. "/b", "w"))
    assert.equal("first", files.firstline(dir .. "/b"))
    assert.is_true(files.can_write(dir .. "/none"))
    assert.is_false(files.can_read(dir .. "/none"))
    assert.is_false(files.can_write(dir .. "/none/none"))
    assert.is_false(files.can_write(dir))
  end)

  it("reads what a command prints", function()
    assert.equal("one", files.readcmd("printf 'one\\ntwo\\n'", "*l"))
    assert.equal(42, files.readcmd("echo 42", "*n"))
  end)

  it("takes paths apart", function()
    assert.equal("/etc", files.dirname("/etc/hosts"))
    assert.equal("hosts", files.basename("/etc/hosts"))
    assert.equal(".", files.dirname("hosts"))
    assert.is_nil(files.dirname(nil))
    assert.is_nil(files.basename(nil))
  end)

  it("follows a link once, and finds the first name", function()
    assert.equal("b", files.readlink(dir .. "/z"))
    assert.is_nil(files.readlink(dir .. "/b"))
    assert.equal("a", files.firstfile(dir))
    assert.is_nil(files.firstfile(dir .. "/none"))
  end)

  it("knows network interfaces", function()
    assert.is_true(files.is_iface("lo"))
    assert.is_false(files.is_iface("l"))
    assert.is_false(files.is_iface("no-such-interface"))
  end)

  it("say in compiled code, too, that they can't be written", function ()
    local full = io.open("/dev/full", "a")
    if not full then return pending("there is no /dev/full") end
    for _, how in ipairs{"flush", "write"} do
      local good = assert(io.open("/dev/null", "a"))
      local failed, list = 0, {} -- without a branch: the trace is one of success
      for i = 1, 300 do list[i] = i <= 200 and good or full end
      local text = how == "write" and ("x"):rep(100000) or "x"
      for i = 1, 300 do
        local file = list[i]
        local ok = file:write(text)
        if how == "flush" then ok = file:flush() end
        if not ok then failed = failed + 1 end
      end
      assert.equal(100, failed, how)
      good:close()
    end
    full:close()
    assert.has_error(function () full:write("x") end, "attempt to use a closed file")
    local ok, why, number = io.open("/dev/full", "a"):write(("x"):rep(1e6), 7)
    assert.same({nil, "No space left on device", 28}, {ok, why, number})
  end)
end)
