-- SPDX-License-Identifier: Apache-2.0

local C = require("core.native")
local frames = require("testing.lwaftr_frames")
local loader = require("apps.lwaftr.loader")
local testing = require("testing.support")

local function file(text)
  local path = testing.temporary(text)
  return path
end

local function loaded(path)
  local loading = loader.start(path)
  local conf, wrong
  repeat
    C.pg_sleep(0.001)
    conf, wrong = loading:poll()
  until conf ~= nil
  return conf, wrong
end

describe("apps.lwaftr.loader", function ()
  it("reads a configuration while others work", function ()
    local path = file(frames.CONF:format("mtu 1400;", ""))
    local conf = loaded(path).softwire_config
    os.remove(path)
    assert.equal(4, conf.binding_table.softwires:count())
    assert.equal(1400, conf.external_interface.mtu)
    assert.equal(0xaa, conf.instance.test.queue[0].external_interface.mac[1])
  end)

  it("says where a file is wrong", function ()
    local path = file("softwire-config {\n  binding-table {\n    softwire { ipv4 1;")
    local conf, wrong = loaded(path)
    os.remove(path)
    assert.is_false(conf)
    assert.equal(path .. ":3: ipv4 is an IPv4 address such as 192.0.2.1, not '1'",
      wrong)
  end)

  it("is given up without a trace", function ()
    local path = file(frames.CONF:format("", ""))
    loader.start(path)
    collectgarbage()
    collectgarbage()
    os.remove(path)
    assert.equal(path .. ": No such file or directory",
      select(2, loaded(path)):match("can't be read: (.*)"))
  end)
end)
