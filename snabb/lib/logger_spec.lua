-- SPDX-License-Identifier: Apache-2.0

local logger = require("lib.logger")

-- A file that keeps what is written.
local function sink()
  return {text = "", flushes = 0,
    write = function (self, ...) self.text = self.text .. table.concat{...} end,
    flush = function (self) self.flushes = self.flushes + 1 end}
end

-- A token bucket that has what the test gives it.
local function bucket(tokens)
  return {tokens = tokens, rate = 10,
    can_take = function (self, n) return self.tokens >= n end,
    take = function (self, n)
      if self.tokens < n then return false end
      self.tokens = self.tokens - n
      return true
    end,
    get = function (self) return self.rate end,
    set = function (self, rate) self.rate = rate end}
end

describe("lib.logger", function ()
  local out, log

  local function start(arg, tokens)
    out = sink()
    arg.fh = out
    if arg.date == nil then arg.date = false end
    log = logger.new(arg)
    log.tb, log.discard_tb = bucket(tokens or 1000), bucket(1000)
  end

  it("writes messages, with the module's name and the date", function ()
    start{module = "m"}
    log:log("one 100%")
    log:log("two")
    assert.equal("m: one 100%\nm: two\n", out.text)
    assert.equal(2, out.flushes)
    start{date = true, date_fmt = "%Y ", flush = false}
    log:log("x")
    assert.matches("^%d%d%d%d x\n$", out.text)
    assert.equal(0, out.flushes)
  end)

  it("discards what is too much, and says how much that was", function ()
    start({throttle = false}, 1)
    for i = 1, 4 do log:log(i) end
    assert.is_false(log:can_log())
    log.tb.tokens = 2
    assert.is_true(log:can_log())
    log:log("after")
    assert.equal("1\nafter\n4 messages discarded\n", out.text)
    log:log("more")
    assert.equal("1\nafter\n4 messages discarded\nmore\n", out.text)
  end)

  it("halves its rate while very much is discarded, and raises it again", function ()
    start({rate = 10}, 0)
    local function after(discards, seconds)
      log.discards, out.text = discards, ""
      log.stamp = log.tsc:stamp() - seconds * log.tsc:tps()
      log.tb.tokens = 1
      log:log("x")
      return log.tb.rate
    end
    assert.equal(5, after(1000, 1)) -- more than 5 times 10 a second
    assert.matches("exceeds threshold %(50.00 Hz%), throttling logging rate to 5.00 Hz",
      out.text)
    for _ = 1, 10 do after(1000, 1) end
    assert.equal(0.1, log.tb.rate)
    assert.equal(2.6, after(10, 1))
    assert.matches("Unthrottling logging rate to 2.60 Hz", out.text)
    for _ = 1, 3 do after(10, 1) end
    assert.equal(10, log.tb.rate)
    assert.equal(10, after(10, 1))
    assert.equal("x\n10 messages discarded\n", out.text)
  end)
end)
