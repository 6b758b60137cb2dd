-- SPDX-License-Identifier: Apache-2.0
-- A file of a process that has ended, as this one goes on with it (former.c): opened,
-- its records restored by the item's means, in C or in Lua, and what became of them
-- reported.

local C = require("core.declare")("net/keep/former.h")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local files = require("net.keep.files")
local log = require("core.lib.log")
local unistd = require("posix.unistd")

local former = {}

--- What restore() says of a record that is no business of this process.
former.PASS = false

--- Why a record isn't used that is in the table already. Of another copy's that isn't
--- worth a word: who was killed meanwhile had taken it over.
former.TWICE = "that are there twice"

--- Files that weren't used, records that were, and records that weren't, since the
--- process began.
former.counts = {refused = 0, used = 0, dropped = 0}
local counts = former.counts

local ALL = 2 ^ 32 - 1
local CHANGE = fcntl.O_RDWR + fcntl.O_CLOEXEC + fcntl.O_NONBLOCK

-- What came of it -----------------------------------------------------------------

-- Why records weren't used, with their numbers, the most frequent reason first.
local function reasons_text(reasons)
  local list = {}
  for reason, n in pairs(reasons) do list[#list + 1] = {reason, n} end
  table.sort(list, function (a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[1] < b[1]
  end)
  for i, each in ipairs(list) do list[i] = ("%d %s"):format(each[2], each[1]) end
  return table.concat(list, ", ")
end

--- The job's file isn't used; `problem`: why, behind "it".
function former.refuse(job, problem)
  log.warning("--keep %s: the state of %s isn't used: its file %s", job.name,
    job.item.of, problem)
  counts.refused = counts.refused + 1
end

-- What C has counted by outcomes, by reasons.
local function count_native(one, item)
  for i = 1, C.FORMER_OUTCOMES - 1 do
    local n = tonumber(one.native.outcome[i])
    local reason = item.restore.reasons[i]
    local told = reason ~= former.PASS
      and not (one.foreign and reason == former.TWICE)
    if n > 0 and told then one.reasons[reason or "unused"] = n end
  end
  one.used = one.used + tonumber(one.native.outcome[0])
end

-- Say what became of the records, and count them.
local function tell(job, one)
  local dropped = 0
  if one.in_c then count_native(one, job.item) end
  for _, n in pairs(one.reasons) do dropped = dropped + n end
  counts.used, counts.dropped = counts.used + one.used, counts.dropped + dropped
  if one.used + dropped == 0 then return end
  log.info("--keep %s: %s goes on with %d of %d records%s%s", job.name, job.item.of,
    one.used, one.used + dropped, one.foreign and (" of " .. one.of) or "",
    dropped > 0 and ("; not used: %s"):format(reasons_text(one.reasons)) or "")
end

-- One file ------------------------------------------------------------------------

-- Does the file have records of the kind?
local function fits(file, item, of)
  local h, r, said = file.header, item.records, ffi.string(file.header.of)
  if said:gsub(" former %d+$", "") ~= of:gsub(" former %d+$", "") then
    return false, ("is of '%s'"):format(said)
  elseif ffi.string(h.layout) ~= item.layout or h.record_size ~= r.size
    or h.age_at ~= r.age_at then
    return false, ("has records of the layout '%s', %d bytes, and '%s', %d, is needed")
      :format(ffi.string(h.layout), h.record_size, item.layout, r.size)
  end
  return true
end

local function prepare(job, one)
  local item = job.item
  local restore = item.restore
  one.native.now = item.now and item.now() or 0
  if restore then
    one.in_c = true
    one.native.restore = restore.call
    one.native.own = one.foreign and restore.own or nil
    one.context, one.anchor = restore.context(one.notes)
    one.native.context = ffi.cast("void *", one.context)
  else
    one.restore, one.context, one.anchor = item.begin(one.notes)
    one.native.oldest_first = true
  end
  if item.see then
    C.pg_keep_former_see(one.native, item.see, ffi.cast("void *", one.context))
    item.seen()
  end
end

--- A file's records, which the job's item goes on with; nil and why not. `of`: whose
--- they are; `consume`: each that was asked for goes from the file; `foreign`: they
--- were another copy's.
function former.open(job, path, of, consume, foreign)
  local file, fd = files.look(path, true)
  if not file then return nil, fd end
  local good, problem = fits(file, job.item, of)
  local notes = good and files.notes(fd, file)
  local native = notes and C.pg_keep_former(fd, file, consume) or nil
  if good and not notes then
    problem = "has notes that can't be read"
  elseif good and native == nil then
    problem = "can't be read: " .. errno.errno(ffi.errno())
  end
  unistd.close(fd)
  if problem then return nil, problem end
  local one = {native = native, item = job.item, notes = notes, inode = file.inode,
    of = of, consume = consume, foreign = foreign, used = 0, reasons = {}}
  prepare(job, one)
  return one
end

--- Can single records be asked for, so that the others can wait? `hints`: a path.
function former.can_wait(one, hints)
  local restore = one.in_c and one.item.restore
  local at_once = restore and restore.at_once
  local fd = restore and not (at_once and at_once()) and fcntl.open(hints, CHANGE)
  if not fd then return false end
  local good = C.pg_keep_former_hints(one.native, fd, one.inode)
  unistd.close(fd)
  return good
end

--- How many records there are still.
function former.count(one) return tonumber(C.pg_keep_former_count(one.native)) end

local function restore_in_lua(one)
  while not one.native.done do
    local record = C.pg_keep_former_next(one.native, ALL)
    if record ~= nil then
      local reason = one.restore(record)
      if reason == nil then
        one.used = one.used + 1
      elseif reason ~= former.PASS then
        one.reasons[reason] = (one.reasons[reason] or 0) + 1
      end
    end
  end
end

--- Use up to `most` records in C. False: there are no others.
function former.step(one, most)
  local item = one.item
  local more = C.pg_keep_former_step(one.native, item.now(),
    math.min(most, item.restore.most or ALL))
  if item.restore.made then item.restore.made() end
  return more
end

--- No more is asked for; what there is stays for former.close().
function former.leave(job, one)
  tell(job, one)
  C.pg_keep_former_leave(one.native)
end

--- Behind leave().
function former.close(one)
  C.pg_keep_former_close(one.native)
  one.native = nil
end

--- Use all records.
function former.take_all(job, one)
  if one.in_c then
    repeat until not former.step(one, ALL)
  else
    restore_in_lua(one)
  end
  former.leave(job, one)
  former.close(one)
end

return former
