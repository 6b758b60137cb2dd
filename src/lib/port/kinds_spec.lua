-- SPDX-License-Identifier: Apache-2.0
-- Every entry is whole, and nothing else knows the kinds by name.

local dirent = require("posix.dirent")
local kinds = require("lib.port.kinds")
local main = require("core.main")

describe("each kind of port", function ()
  it("has a place, a line of help, and types for its arguments", function ()
    local orders, names = {}, {}
    for _, kind in ipairs(kinds.list) do
      assert.equal("number", type(kind.order), kind.name)
      assert.is_nil(orders[kind.order], kind.name)
      assert.is_nil(names[kind.name], kind.name)
      orders[kind.order], names[kind.name] = true, true
      assert.equal("string", type(kind.summary), kind.name)
      for _, arg in ipairs(kind.args) do
        assert.equal("function", type(arg.type.read), arg.name)
        assert.truthy(arg.help and arg.show, arg.name)
      end
    end
  end)

  it("can be opened", function ()
    for _, kind in ipairs(kinds.list) do
      assert.truthy(kind.devargs or kind.open, kind.name)
      if kind.ends then assert.truthy(kind.ended, kind.name) end
    end
  end)

  it("is a folder, with a page", function ()
    local count = 0
    for folder in dirent.files(main.root .. "/src/port") do
      if folder:match("^[%w_]+$") then
        count = count + 1
        assert.truthy(io.open(("%s/src/port/%s/README.md"):format(main.root, folder)),
          folder)
      end
    end
    assert.equal(count, #kinds.list)
  end)

  it("is told from others nowhere else", function ()
    local command = "grep -rnE 'kind *[=~]= *\"(%s)\"' --include='*.lua' "
      .. "--exclude='*_spec.lua' %s/src %s/snabb"
    local names = {}
    for i, kind in ipairs(kinds.list) do names[i] = kind.name end
    local pipe = io.popen(command:format(table.concat(names, "|"), main.root,
      main.root))
    local found = pipe:read("*a")
    pipe:close()
    -- (A savefile's format is a kind too, of another sort.)
    assert.equal("", (found:gsub("[^\n]*/lib/pcap/[^\n]*\n", "")))
  end)
end)

describe("the kinds for a kernel interface", function ()
  it("are those that suit it, the best first", function ()
    assert.same({"packet:e", "xdp:e"}, kinds.on_interface("e", {}))
    assert.same({"tap:e", "packet:e"}, kinds.on_interface("e", {is_tap = true}))
  end)
end)
