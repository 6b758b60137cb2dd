-- SPDX-License-Identifier: Apache-2.0
-- Runs the binary on trees that have modules which Perigee has, too.

local stat = require("posix.sys.stat")
local testing = require("testing.support")
local unistd = require("posix.unistd")

local FILES = {
  ["core/app.lua"] = "",
  ["core/lib.lua"] = "module(..., package.seeall)\nfunction own() return 'fork' end",
  ["lib/macaddress.lua"] = "return {new = function () return 'fork' end}",
  ["lib/made_up.lua"] = "return {}",
}
local CODE = [[print(require("lib.macaddress"):new("02:00:00:00:00:01"),
  rawget(require("core.lib"), "own"), require("core.lib").comma_value(1000))]]

describe("a tree with modules of Perigee's names #slow", function ()
  local top = os.tmpname()
  local fork, own = top .. "/fork", top .. "/own"

  local function write(path, text)
    for parent in path:gmatch("()/") do stat.mkdir(path:sub(1, parent - 1)) end
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end

  setup(function ()
    os.remove(top)
    for name, text in pairs(FILES) do write(fork .. "/" .. name, text) end
    write(own .. "/lib/macaddress.lua", FILES["lib/macaddress.lua"])
  end)

  teardown(function () os.execute("rm -r " .. top) end)

  local NOTICE = "perigee: --snabb %s: Perigee's own modules are used, not the tree's "
    .. "changed ones (--prefer-tree MODULE chooses those): core.app, core.lib, "
    .. "lib.macaddress\n"

  local FAMILY_NOTICE = "perigee: --snabb %s: the tree's own modules are used in %s\n"

  -- As forks do: one module of a family has another version than what others expect.
  it("brings families of modules whole", function ()
    local tree = top .. "/families/src"
    local PLAIN = "module(..., package.seeall)\nown = true"
    write(tree .. "/core/app.lua", "")
    for _, name in ipairs{"lib/ipsec/esp", "lib/ipsec/aes_gcm", "apps/ipsec/esp",
                          "lib/macaddress"} do
      write(tree .. "/" .. name .. ".lua", PLAIN)
    end
    write(tree .. "/lib/ipsec/seq_no_t.lua",
      PLAIN .. "\n-- struct { struct packet packet; } can't be here")
    local modules = {"lib.ipsec.esp", "lib.ipsec.aes_gcm", "apps.ipsec.esp",
      "lib.macaddress"}
    local code = "for _, name in ipairs{'" .. table.concat(modules, "','") .. "'} do "
      .. "print(name, rawget(require(name), 'own') == true) end"
    local said = testing.perigee{"--snabb", tree, "snsh", "-e", code}
    assert.equal(FAMILY_NOTICE:format(tree, "apps.ipsec, lib.ipsec")
      .. NOTICE:format(tree):gsub("core.lib, ", "")
      .. "lib.ipsec.esp\ttrue\nlib.ipsec.aes_gcm\ttrue\napps.ipsec.esp\ttrue\n"
      .. "lib.macaddress\tfalse\n", said)
    assert.equal("cdata\n", (testing.perigee{"--snabb", tree, "snsh", "-e",
      "print(type(require('lib.ipsec.seq_no_t')))"}):match("[^\n]*\n$"))
    -- plan says it, too.
    write(top .. "/graph.lua", "engine.configure(config.new()) engine.main()")
    assert.matches("modules of lib.ipsec: " .. tree, (testing.perigee{"--snabb", tree,
      "plan", "run", top .. "/graph.lua"}), 1, true)
  end)

  it("gives way, which is said", function ()
    assert.equal(NOTICE:format(fork) .. "02:00:00:00:00:01\tnil\t1,000\n",
      (testing.perigee{"--snabb", fork, "snsh", "-e", CODE}))
  end)

  it("is used where --prefer-tree says so, with what only Perigee's has", function ()
    assert.equal(NOTICE:format(fork) .. "fork\tfunction\t1,000\n",
      (testing.perigee{"--snabb", fork, "--prefer-tree", "core.lib", "--prefer-tree",
        "lib.macaddress", "snsh", "-e", (CODE:gsub('(rawget%b())', "type(%1)"))}))
  end)

  it("comes first with -p, which is said", function ()
    assert.equal(("perigee: -p %s: these modules are used, not Perigee's: "
      .. "lib.macaddress\nfork\tnil\t1,000\n"):format(own),
      (testing.perigee{"-p", own, "snsh", "-e", CODE}))
  end)

  -- Snabb before v2024.08 has program/lisper/dev-env/snabb -> ../../../../, and more.
  it("may have links in circles, and folders that Perigee hasn't", function ()
    local circles = top .. "/circles"
    write(circles .. "/src/core/app.lua", "")
    write(circles .. "/src/lib/protocol/ethernet.lua", "")
    write(circles .. "/src/lib/many/one.lua", "")
    for i = 1, 3 do
      write(("%s/src/program/lisper/dev-env%d/README"):format(circles, i), "")
      local link = ("%s/src/program/lisper/dev-env%d/snabb"):format(circles, i)
      unistd.link("../../../../", link, true)
      unistd.link("../..", ("%s/src/lib/protocol/up%d"):format(circles, i), true)
    end
    local code = ([[
      local dirent, looked_at = require("posix.dirent"), 0
      local dir = dirent.dir
      function dirent.dir(path)
        looked_at = looked_at + 1
        return dir(path)
      end
      require("core.both").add("--snabb", "%s/src", nil, true)
      print(looked_at)]]):format(circles)
    local said, status = testing.perigee{"snsh", "-e", code}
    assert.equal(0, status)
    -- Five folders of modules, lib/protocol, and that again for its family.
    assert.equal(FAMILY_NOTICE:format(circles .. "/src", "lib.protocol")
      .. NOTICE:format(circles .. "/src"):gsub("core.app.*", "core.app\n7\n"), said)
    for _, option in ipairs{"--snabb", "-p"} do
      local folder = option == "-p" and "/src/lib/protocol" or "/src"
      assert.equal("started\n", testing.perigee{option, circles .. folder, "snsh", "-e",
        "print('started')"}:match("[^\n]*\n$"))
    end
  end)

  it("can't take the engine's place, or give what it hasn't", function ()
    for name, why in pairs{
      ["core.link"] = "--prefer-tree core.link: Perigee's engine is made of its own",
      ["lib.gone"] = "--prefer-tree lib.gone: no tree given with --snabb or -p has it",
    } do
      local said, status = testing.perigee{"--snabb", fork, "--prefer-tree", name, "ps"}
      assert.equal(2, status)
      assert.matches(why, said, 1, true)
    end
  end)
end)
