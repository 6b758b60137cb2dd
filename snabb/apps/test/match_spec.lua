-- SPDX-License-Identifier: Apache-2.0

local app = require("core.app")
local config = require("core.config")
local Delayed_start = require("apps.test.delayed_start").Delayed_start
local link = require("core.link")
local Match = require("apps.test.match").Match
local Npackets = require("apps.test.npackets").Npackets
local packet = require("core.packet")

local rx, comparator, output

before_each(function ()
  rx, comparator = link.new("spec_rx"), link.new("spec_comparator")
  output = link.new("spec_output")
end)

after_each(function ()
  link.free(rx, "spec_rx")
  link.free(comparator, "spec_comparator")
  link.free(output, "spec_output")
end)

local function fill(l, texts)
  for _, text in ipairs(texts) do link.transmit(l, packet.from_string(text)) end
end

describe("Match", function ()
  -- How many errors there are when rx and comparator have these packets.
  local function errors(conf, got, expected)
    local match = Match:new(conf)
    match.input = {rx = rx, comparator = comparator}
    fill(rx, got)
    fill(comparator, expected)
    match:push()
    return #match:errors(), match
  end

  it("finds what differs", function ()
    assert.equal(0, (errors({}, {"a", "b"}, {"a", "b"})))
    assert.equal(2, (errors({}, {"a"}, {"b"}))) -- a mismatch, and b not matched
    assert.equal(2, (errors({}, {"aa"}, {"a"})))
    local n, match = errors({}, {}, {"expected"})
    assert.equal(1, n)
    assert.matches("Not matched:\n65 78 70", match.errs[1])
  end)

  it("is fuzzy or modest", function ()
    assert.equal(0, (errors({fuzzy = true}, {"x", "a", "y", "b"}, {"a", "b"})))
    assert.equal(1, (errors({fuzzy = true}, {"x"}, {"a"})))
    assert.equal(0, (errors({modest = true}, {"a"}, {"a", "b"})))
  end)

  it("counts what waits if none was seen", function ()
    assert.equal(1, (errors({modest = true}, {}, {"b"})))
  end)
end)

describe("Npackets", function ()
  it("passes so many on, and leaves the others", function ()
    local n = Npackets:new{npackets = 3}
    n.input, n.output = {input = rx}, {output = output}
    fill(rx, {"1", "2"})
    n:push()
    fill(rx, {"3", "4", "5"})
    n:push()
    n:push()
    assert.equal(3, link.nreadable(output))
    assert.equal(2, link.nreadable(rx))
    assert.equal(0, n.n)
  end)
end)

describe("Delayed_start", function ()
  it("passes packets on once it is time", function ()
    local d = Delayed_start:new(3600)
    d.input, d.output = {input = rx}, {output = output}
    fill(rx, {"1", "2"})
    d:push()
    assert.equal(0, link.nreadable(output))
    d.start = app.now()
    d:push()
    assert.equal(2, link.nreadable(output))
  end)
end)

describe("CSV", function ()
  it("writes apps and links", function ()
    local CSV = require("apps.csv").CSV
    local dir = os.tmpname()
    os.remove(dir)
    require("posix.sys.stat").mkdir(dir)
    local c = config.new()
    config.app(c, "csv", CSV, dir)
    config.app(c, "source", require("apps.basic.basic_apps").Source)
    config.app(c, "sink", require("apps.basic.basic_apps").Sink)
    config.link(c, "source.output -> sink.input")
    app.configure(c)
    app.breathe()
    app.app_table.csv:output_now()
    app.configure(config.new())
    local text = {}
    for _, name in ipairs{"app", "link"} do
      local file = assert(io.open(("%s/%s.csv"):format(dir, name)))
      text[name] = file:read("*a")
      file:close()
      os.remove(("%s/%s.csv"):format(dir, name))
    end
    require("posix.unistd").rmdir(dir)
    assert.matches("^time,name,class,cpu,crashes,starttime\n%d+%.%d+,csv,", text.app)
    assert.matches("\n%d+%.%d+,source,output,sink,input,(%d+),(%d+),%1,%2,0,0\n$",
      text.link)
    assert.is_false(pcall(app.configure, c))
  end)
end)
