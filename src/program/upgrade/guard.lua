-- SPDX-License-Identifier: Apache-2.0
-- Who goes on with an upgrade whose command is killed: a second process, of which the
-- command says how far it is. It hears of the command's end by a pipe, of which nobody
-- else has the other end.

local failure = require("core.failure")
local log = require("core.lib.log")
local new_pipe = require("program.upgrade.pipe").new
local poll = require("posix.poll").rpoll
local unistd = require("posix.unistd")
local wait = require("posix.sys.wait")

local Guard = {}
Guard.__index = Guard

local END_MS = 1000 -- it ends at once; one that was stopped isn't waited for

-- Read what the command says until it has ended: the texts, a list.
local function hear(pipe)
  local text = ""
  repeat
    local more = unistd.read(pipe, 4096)
    text = text .. (more or "")
  until not more or more == ""
  local said = {}
  for line in text:gmatch("([^\n]*)\n") do said[#said + 1] = line end
  return said
end

local function look_after(pipe, go_on, at_end)
  local said = hear(pipe)
  if said[#said] == Guard.DONE then return at_end() end
  local ok, err = pcall(go_on, said)
  at_end()
  if not ok then error(err, 0) end
end

--- What the command says last.
Guard.DONE = "done"

-- In a session of its own: Ctrl-C is for the command. It is nobody's child, so that it
-- needn't be waited for.
local function be_guard(pipe, ends, ...)
  unistd.setpid("s")
  if unistd.fork() ~= 0 then unistd._exit(0) end
  local ok, err = pcall(look_after, pipe, ...)
  if not ok then log.error("%s", tostring(err)) end
  unistd.close(ends)
  unistd._exit(ok and 0 or 1)
end

--- Start it. If this process ends before finish(), it calls go_on(SAID), with the list
--- of the texts that say() was given. In any case it calls at_end() then: this process
--- may be killed behind finish().
function Guard.begin(go_on, at_end)
  io.stdout:flush()
  local pipe, said = new_pipe("can't make a pipe")
  local ended, ends = new_pipe("can't make a pipe")
  local pid, reason = unistd.fork()
  if not pid then failure.raise("no process can be started: %s", reason) end
  if pid == 0 then
    unistd.close(said)
    unistd.close(ended)
    be_guard(pipe, ends, go_on, at_end)
  end
  wait.wait(pid)
  unistd.close(ends)
  -- (The pipe's other end stays open: no SIGPIPE if the guard is killed.)
  return setmetatable({pipe = pipe, said = said, ended = ended}, Guard)
end

--- So far it is: a text of one line.
function Guard:say(text) unistd.write(self.said, text .. "\n") end

--- It isn't needed any more.
function Guard:finish()
  self:say(Guard.DONE)
  unistd.close(self.said)
  unistd.close(self.pipe)
  poll(self.ended, END_MS)
  unistd.close(self.ended)
end

return Guard
