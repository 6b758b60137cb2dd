-- SPDX-License-Identifier: Apache-2.0
-- Records that a backup had, of itself or of a former connection, and that the master
-- hasn't: sessions that are lost. They are counted once all of the master's files are
-- here, as a process on his host may just have put some aside.

local C = require("core.declare")("net/replica/replica.h")
local ffi = require("ffi")
local keep = require("net.keep.keep")
local log = require("core.lib.log")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local gone = {}

-- The item that a file is of, also of one that was put aside (net.keep.files).
local function item_of(of) return (of:gsub(" former %d+$", "")) end

--- What the file at `path` has now, with `n` records: a table for gone.tell(); nil if
--- it isn't there, can't be read, or has none. `file`: its name.
function gone.note(path, file)
  local there, fd = keep.look(path)
  if not there then return nil end
  local before = keep.read(there, fd)
  unistd.close(fd)
  if not before or before.n == 0 then return nil end
  local sums = ffi.new("uint64_t[?]", before.n)
  C.pg_replica_sums(before, there.header.age_at, sums)
  return {item = item_of(keep.owner(there, file)), sums = sums, n = before.n}
end

-- How many of them aren't among the master's `files`.
local function count(noted, files)
  local targets = {}
  for _, file in pairs(files) do
    if item_of(file.of) == noted.item then targets[#targets + 1] = file.native end
  end
  local list = ffi.new("const struct replica_target *[?]", #targets, targets)
  return C.pg_replica_without(noted.sums, noted.n, list, #targets)
end

-- Remove a file that the master hasn't: how many records it alone had.
local function remove(from, files, folder, file, hints)
  local path = ("%s/%s"):format(folder, file)
  local had = gone.note(path, file)
  local n = had and count(had, files) or 0
  unistd.unlink(path)
  unistd.unlink(("%s/%s"):format(hints, file))
  log.info("%s: %s has no file %s, so the one here is gone%s", from.name, from.peer,
    file, n > 0 and (", with %d records that it alone had"):format(n) or "")
  return n
end

--- All that the master has is here, in `files` ({of, native, before = what note() gave,
--- or nil}): say what isn't any more, and remove files that he hasn't: what he never
--- had, or has ended while none listened. A master that keeps nothing yet takes nothing
--- away. `from`: {name, folder (a name), peer}. How many records are gone.
function gone.tell(from, files, hints)
  local sum, own = 0, {}
  for _, file in pairs(files) do
    own[keep.file_of(file.of)] = true
    local before = file.before
    local n = before and count(before, files) or 0
    file.before, sum = nil, sum + n
    if n > 0 then
      log.info("%s: %s has all records of %s, in the place of %d here, of which %d are "
        .. "gone", from.name, file.of, from.peer, before.n, n)
    end
  end
  local folder = keep.folder(from.folder)
  for _, file in ipairs(next(own) and tree.names(folder) or {}) do
    if not own[file] then sum = sum + remove(from, files, folder, file, hints) end
  end
  return sum
end

return gone
