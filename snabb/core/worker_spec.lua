-- SPDX-License-Identifier: Apache-2.0
local counter = require("core.counter")
local shm = require("core.shm")
local wait_for = require("testing.support").wait_for
local worker = require("core.worker")

describe("core.worker", function ()
  local names = {}
  local function start(name, code)
    names[#names + 1] = name
    return worker.start(name, code)
  end

  after_each(function ()
    for _, name in ipairs(names) do
      worker.stop(name)
      wait_for(function () return not worker.status()[name].alive end)
    end
    names = {}
  end)

  it("runs code in a process of its own, which shares `group`", function ()
    local pid = start("writes", [[
      local counter = require("core.counter")
      local c = counter.create("group/spec.counter", 0)
      counter.set(c, require("posix.unistd").getpid())
      counter.commit()
      require("posix.unistd")._exit(0) -- and leave it there
    ]])
    assert.is_true(wait_for(function () return not worker.status().writes.alive end))
    assert.same({pid = pid, alive = false, status = 0}, worker.status().writes)
    assert.equal(pid, tonumber(counter.read(counter.open("group/spec.counter"))))
    shm.unlink("group/spec.counter")
  end)

  it("knows those that run, and stops them", function ()
    start("sleeps", "require('ffi').C.sleep(60)")
    assert.is_true(worker.status().sleeps.alive)
    worker.stop("sleeps")
    assert.is_true(wait_for(function () return not worker.status().sleeps.alive end))
    assert.equal(9, worker.status().sleeps.status)
  end)

  it("tells the exit status of one that fails", function ()
    start("fails", "io.stderr = io.open('/dev/null', 'w') error()")
    assert.is_true(wait_for(function () return not worker.status().fails.alive end))
    assert.equal(1, worker.status().fails.status)
  end)

  it("leaves nothing in shared memory", function ()
    local pid = start("makes", [[
      require("core.counter").create("spec/made.counter", 5)
      require("core.main").exit(3)
    ]])
    assert.is_true(wait_for(function () return not worker.status().makes.alive end))
    assert.equal(3, worker.status().makes.status)
    assert.is_false(shm.exists("/" .. pid .. "/spec/made.counter"))
  end)

  it("refuses what is no code, and names it doesn't know", function ()
    assert.has_error(function () worker.start("x", print) end)
    assert.has_error(function () worker.stop("nobody") end, "no such child: nobody")
  end)
end)
