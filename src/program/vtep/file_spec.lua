-- SPDX-License-Identifier: Apache-2.0
local file = require("program.vtep.file")
local stdlib = require("posix.stdlib")
local unistd = require("posix.unistd")

describe("configuration files of vtep", function ()
  local folder

  before_each(function ()
    folder = stdlib.mkdtemp((os.getenv("TMPDIR") or "/tmp") .. "/vtep.XXXXXX")
  end)

  after_each(function () unistd.rmdir(folder) end)

  local function load(name, text)
    local path = folder .. "/" .. name
    local out = assert(io.open(path, "w"))
    out:write(text)
    out:close()
    local ok, result = pcall(file.load, path)
    os.remove(path)
    if ok then return result end
    return nil, (tostring(result):gsub(folder .. "/", "", 1))
  end

  local LUA = [[return {
    inner = "null", outer = 3, address = "192.0.2.1/24", report = 1.5, learn = false,
    vnis = {[42] = 0, [43] = 10}, dscp = "copy",
    remotes = {"192.0.2.2", {address = "198.51.100.7", vnis = {43}}},
    static = {{vni = 42, mac = "02:00:00:00:00:05", remote = "192.0.2.2"}},
  }]]
  local JSON = [[{
    "inner": "null", "outer": 3, "address": "192.0.2.1/24", "report": 1.5,
    "learn": false, "vnis": {"42": 0, "43": 10}, "dscp": "copy",
    "remotes": ["192.0.2.2", {"address": "198.51.100.7", "vnis": [43]}],
    "static": [{"vni": 42, "mac": "02:00:00:00:00:05", "remote": "192.0.2.2"}]}]]
  local YAML = [[
inner: "null"
outer: 3
address: 192.0.2.1/24
report: 1.5
learn: false
vnis: {42: 0, 43: 10}
dscp: copy
remotes: [192.0.2.2, {address: 198.51.100.7, vnis: [43]}]
static:
  - {vni: 42, mac: "02:00:00:00:00:05", remote: 192.0.2.2}
]]

  it("are the same in Lua, JSON and YAML", function ()
    local table = assert(load("a.lua", LUA))
    assert.same(table, assert(load("a.json", JSON)))
    assert.same(table, assert(load("a.yaml", YAML)))
    assert.same(table, assert(load("a.conf", LUA)))
  end)

  it("are refused for the same reasons", function ()
    local wrong = {
      {'{"adress": "192.0.2.1/24"}',
        "a.json:1: the configuration has no field 'adress'"},
      {'{"ttl":\n "x"}', "a.json: ttl is a number, not 'x'"},
      {'{"vnis": {"a": 0}}', "a.json: a VNI is a number, not 'a'"},
      {'{"vnis": 7}', "a.json: vnis is a table"},
      {'{"remotes": {"x": "192.0.2.2"}}', "a.json: remotes is a list"},
      {'{"inner": {}}', "a.json: inner is text in quotes, not a table"},
      {'{"ttl": 1,\n "ttl": 2}', "a.json:2: the key 'ttl' is here twice"},
      {'{"ttl":\n null}', "a.json:2: null is no value"},
      {'[1', "a.json:1: "},
      {'[1]', "a.json: the configuration has a value without a name"},
      {'7', "a.json: the configuration is a table"},
    }
    for _, case in ipairs(wrong) do
      local result, problem = load("a.json", case[1])
      assert.is_nil(result, case[1])
      assert.is_truthy(problem:gsub(folder .. "/", ""):find(case[2], 1, true),
        case[1] .. ": " .. problem)
    end
  end)
end)
