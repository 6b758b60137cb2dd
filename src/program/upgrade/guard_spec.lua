-- SPDX-License-Identifier: Apache-2.0

local Guard = require("program.upgrade.guard")
local signal = require("posix.signal")
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

-- What the guard of a process does that is killed once f(guard) has returned: words.
local function done_by_guard(f)
  local from, to = unistd.pipe()
  local pid = unistd.fork()
  if pid == 0 then
    unistd.close(from)
    local function say(word) return function () unistd.write(to, word .. " ") end end
    f(Guard.begin(say("goes on"), say("ends")))
    signal.kill(unistd.getpid(), signal.SIGKILL)
  end
  unistd.close(to)
  wait.wait(pid)
  local text, more = "", "more"
  while more and more ~= "" do
    more = unistd.read(from, 100)
    text = text .. (more or "")
  end
  unistd.close(from)
  return text
end

describe("program.upgrade.guard", function ()
  it("goes on if its process is killed", function ()
    assert.equal("goes on ends ", done_by_guard(function (guard)
      guard:say("ready")
    end))
  end)

  it("only ends if that was done", function ()
    assert.equal("ends ", done_by_guard(function (guard) guard:say(Guard.DONE) end))
    assert.equal("ends ", done_by_guard(function (guard) guard:finish() end))
  end)
end)
