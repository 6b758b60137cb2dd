-- SPDX-License-Identifier: Apache-2.0
-- Have some files changed? Asked now and then. What is still being written doesn't
-- count: two looks must find the same.

local content = require("lib.saved.until_turn").content
local stat = require("posix.sys.stat")

local watch = {}

local RECENT_SECONDS = 2 -- times of files are whole seconds here

local Watch = {}
Watch.__index = Watch

-- What tells a file from another, or from itself at another time; nil if it may have
-- changed without that.
local function mark_of(path)
  local found = stat.stat(path)
  if not found then return "gone" end
  if os.time() - found.st_mtime < RECENT_SECONDS then return nil end
  return ("%d %d %d %d"):format(found.st_dev, found.st_ino, found.st_size,
    found.st_mtime)
end

local function look(self)
  local marks = {}
  for i, path in ipairs(self.paths) do
    local mark = mark_of(path)
    if not mark then return content(self.paths), nil end
    marks[i] = mark
  end
  local all = table.concat(marks, "\n")
  if all == self.marks then return self.content, all end
  return content(self.paths), all
end

--- Watch the files of these paths, as they are now.
function watch.new(paths)
  local self = setmetatable({}, Watch)
  self:follow(paths)
  return self
end

--- Watch these from now on, as they are now; those that are watched already, from what
--- was seen of them last.
function Watch:follow(paths)
  if self.paths and table.concat(paths, "\n") == table.concat(self.paths, "\n") then
    return
  end
  self.paths, self.marks, self.seen = paths, nil, nil
  self.content = content(paths)
end

--- They are about to be read: what they are now counts as seen.
function Watch:note()
  self.marks, self.seen = nil, nil
  self.content = content(self.paths)
end

--- Are they different from what they were, and done? True once for each change.
function Watch:changed()
  local now, marks = look(self)
  if now == self.content then
    self.marks, self.seen = marks, nil
    return false
  end
  local settled = now == self.seen
  self.seen = now
  if settled then self.content, self.marks, self.seen = now, marks, nil end
  return settled
end

return watch
