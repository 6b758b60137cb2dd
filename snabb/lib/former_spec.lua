-- SPDX-License-Identifier: Apache-2.0
local former = require("lib.former")
local packet = require("core.packet")
local testing = require("testing.support")

describe("What Snabb's core had until 2018:", function ()
  it("loggers have the options of then", function ()
    local said = {}
    local fh = {write = function (_, ...) said[#said + 1] = table.concat{...} end,
      flush = function () end}
    local logger = former.lib.logger_new{fh = fh, module = "esp", date = false,
      discard_rate = 1}
    assert.is_true(logger:can_log())
    logger:log("100 % heard")
    assert.same({"esp: 100 % heard\n"}, said)
    former.lib.logger_new{fh = fh, date = false}:log("no module")
    assert.equal("no module\n", said[2])
    assert.has_error(function () former.lib.logger_new{files = 1} end,
      "Logger: unknown configuration option files")
  end)

  it("token buckets tell and take their rate", function ()
    local tb = former.lib.token_bucket_new{rate = 0.5}
    assert.is_true(tb:can_take())
    assert.is_true(tb:take())
    assert.is_false(tb:take())
    assert.equal(0.5, tb:rate(3))
    assert.equal(3, tb:rate())
    assert.is_true(tb:take(3))
    assert.equal(10, former.lib.token_bucket_new():rate())
  end)

  it("timers, folders and packets", function ()
    assert.is_false(former.lib.timer(1e15)())
    assert.is_true(former.lib.timer(-1)())
    assert.same({}, former.lib.files_in_directory("/no/such/folder"))
    local names = former.lib.files_in_directory("/proc/self/task/..")
    assert.truthy(table.concat(names, " "):find("environ.* maps"))
    local p = packet.from_string("abc")
    assert.equal(p.data, former.packet.data(p))
    assert.equal(3, former.packet.length(p))
    packet.free(p)
  end)

  it("is there for programs of a tree alone", function ()
    local code = "print(require('core.lib').logger_new ~= nil, packet.length ~= nil)"
    assert.equal("true\ttrue\n", (testing.script(code)))  -- with -p
    local name = testing.temporary(code)
    local said = testing.perigee{"run", name}
    os.remove(name)
    assert.equal("false\tfalse\n", said)
  end)
end)
