-- SPDX-License-Identifier: Apache-2.0
local ffi = require("ffi")
local C = require("core.declare")("native/moongen.h")
local ends = require("moongen.tasks.ends")

describe("ends", function ()
  local all = C.mg_shared()
  local NEVER = ffi.cast("uint64_t", -1LL)

  before_each(function ()
    all.stop_at, all.signal_at, all.exit_status, all.starting = NEVER, NEVER, -1, 0
    all.runtime["end"], all.examination["end"], all.examined_for = NEVER, NEVER, 0
  end)

  after_each(function () -- other specs go on
    all.stop_at, all.exit_status = NEVER, -1
    all.runtime["end"], all.examination["end"], all.examined_for = NEVER, NEVER, 0
    all.failure[0] = 0
  end)

  it("come when one stops, and later for who asks so", function ()
    assert.equal(1, C.mg_running(0))
    ends.stop()
    assert.equal(0, C.mg_running(0))
    assert.equal(1, C.mg_running(1e9))
    local first = all.stop_at
    ends.stop()
    assert.equal(first, all.stop_at)
  end)

  it("come with the runtime, whose clock stands while a task starts", function ()
    ends.task_starts()
    ends.set_runtime(0)
    assert.equal(1, C.mg_running(0))
    ends.task_starts()
    ends.task_began()
    assert.equal(1, C.mg_running(0))
    ends.task_began()
    C.pg_sleep(0.001)
    assert.equal(0, C.mg_running(0))
    ends.task_began() -- of a task that said so already
    assert.equal(0, all.starting)
  end)

  it("put the runtime's off by as long as tasks took to start", function ()
    ends.set_runtime(1000)
    local before = all.runtime["end"]
    ends.task_starts()
    local began = C.pg_tsc()
    C.pg_sleep(0.001)
    local slept = C.pg_tsc() - began
    ends.task_began()
    local put_off = all.runtime["end"] - before
    assert.is_true(put_off >= slept and put_off <= C.pg_tsc() - began + slept * 1000)
  end)

  it("take any number of seconds", function ()
    ends.set_runtime(math.huge)
    assert.equal(1, C.mg_running(0))
  end)

  it("begin an examination once", function ()
    assert.equal(0, ends.examination_begins())
    ends.examine(1000)
    local left = ends.examination_begins()
    assert.is_true(left > 0 and left <= 1000)
    assert.is_true(ends.examination_begins() < left)
    assert.equal(-1, C.mg_exit_wanted())
  end)

  it("keep the first status and the first sentence", function ()
    ends.want_exit(3)
    ends.want_exit(4)
    assert.equal(3, C.mg_exit_wanted())
    assert.equal(0, C.mg_running(0))
    assert.is_nil(ends.failure())
    ends.fail(("x"):rep(1000))
    ends.fail("another")
    assert.equal(("x"):rep(ffi.sizeof(all.failure) - 1), ends.failure())
  end)
end)
