-- SPDX-License-Identifier: Apache-2.0
-- Writes what runs to a file after each change, a little at a time, as packets wait
-- meanwhile. What changes while it is written is written from its beginning again.

local C = require("core.native")
local atomic_file = require("core.lib.atomic_file")

local saver = {}

local Saver = {}
Saver.__index = Saver

--- What saves to the file `path` what pieces(put) gives, calling put(TEXT) any number
--- of times: it is called in a coroutine, and never goes on after a changed().
--- `seconds`: wait for so long after a change. `private`: for this user alone. Once
--- all is written, or can't be, `done(problem)` is called, if it is given.
function saver.new(path, pieces, options)
  options = options or {}
  return setmetatable({path = path, pieces = pieces, seconds = options.seconds or 0,
    private = options.private, done = options.done, version = 0, saved = 0, due = 0},
    Saver)
end

--- What runs has changed.
function Saver:changed()
  self.version = self.version + 1
  self.due = C.pg_monotonic() + self.seconds
  self:drop()
end

--- What runs isn't to be written, nor is what is being written.
function Saver:drop()
  if self.output then self.output:abandon() end
  self.output, self.writing = nil, nil
end

--- Is there something to write at the time `now` (C.pg_monotonic's)?
function Saver:is_due(now) return self.saved < self.version and now >= self.due end

local function begin(self)
  self.writing = coroutine.create(function ()
    self.output = atomic_file.open(self.path, self.private)
    self.pieces(function (text)
      self.output:put(text)
      coroutine.yield()
    end)
    self.output:finish()
    self.output = nil
  end)
end

--- Go on writing until that time, if it is due.
function Saver:work(until_time)
  if not self:is_due(C.pg_monotonic()) then return end
  if not self.writing then begin(self) end
  repeat
    local ok, err = coroutine.resume(self.writing)
    if coroutine.status(self.writing) == "dead" then
      self.problem = not ok and tostring(err) or nil
      self:drop()
      self.saved = self.version
      if self.done then self.done(self.problem) end
      return
    end
  until C.pg_monotonic() >= until_time
end

--- Wait until what runs now is saved: wait() is called until it is. What was wrong, or
--- nil.
function Saver:await(wait)
  local wanted = self.version
  while self.saved < wanted do wait() end
  return self.problem
end

-- It isn't part of the packet path.
for _, f in pairs(Saver) do
  if type(f) == "function" then jit.off(f, true) end
end

return saver
