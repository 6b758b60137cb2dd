-- SPDX-License-Identifier: Apache-2.0
-- Going on with the records of a process that has ended. Its files are put aside, and
-- their records come into the tables of this process: few of them at once, many while
-- packets flow, each when it is looked up and the others in steps (former.c). A file
-- that was put aside is removed once it has no record left; if the process is killed
-- before that, the next one goes on with what is left, too.

local C = require("core.declare")("net/keep/former.h")
local family = require("net.keep.family")
local files = require("net.keep.files")
local former = require("net.keep.former")
local log = require("core.lib.log")
local outside = require("core.outside.visitors")
local stat = require("posix.sys.stat")
local stdio = require("posix.stdio")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local going_on = {}

--- So many records are used at once, before packets come.
going_on.FEW = 4096

local MOST_FORMERS, former_of = files.MOST_FORMERS, files.former_of
local MANY = 8 -- files put aside: processes that were killed before they had all
local MANY_OTHERS = 64 -- files of other copies
local AT_ONCE = 32
local STEP_NS = 100000 -- that packets wait, at most
local PATIENCE_S = 0.0005 -- between two steps
local HINTS = "/.hints"

local at_work = {} -- what is being gone on with, by item.of
local partial = {} -- whose copies haven't had all of others', by item.of
local shrinking = {} -- files that have no records any more
local visitor = {}

-- Files put aside -----------------------------------------------------------------

local function hints_of(folder, of)
  return ("%s%s/%s"):format(folder, HINTS, files.file_of(of))
end

local function path_of(folder, of)
  return ("%s/%s"):format(folder, files.file_of(of))
end

-- The names of what was put aside of the item, the newest first.
local function formers_of(folder, of)
  local list = files.formers(folder, of)
  for i, n in ipairs(list) do list[i] = former_of(of, n) end
  return list
end

local function remove(folder, of)
  unistd.unlink(path_of(folder, of))
  unistd.unlink(hints_of(folder, of))
end

-- Put aside what the process before this one had of the item; why that can't be.
local function put_aside(item, folder)
  local last = files.formers(folder, item.of)[1] or 0
  if last >= MOST_FORMERS then return ("%d files are put aside"):format(last) end
  local name = former_of(item.of, last + 1)
  local done, reason = stdio.rename(path_of(folder, item.of), path_of(folder, name))
  if not done then return reason end
  stdio.rename(hints_of(folder, item.of), hints_of(folder, name))
end

-- In steps ------------------------------------------------------------------------

local function end_job(job)
  local item = job.item
  at_work[item.of], partial[item.of] = nil, nil
  if item.done then item.done() end
  if item.family and job.consume then family.finish(job.folder, item, files.file_of) end
end

-- A step of the newest file's: it is the one that indexes ask first.
local function step(job)
  local one, ends = job.waiting[1], C.pg_monotonic_ns() + STEP_NS
  while former.step(one, AT_ONCE) do
    if C.pg_monotonic_ns() >= ends then return end
  end
  if one.native.ask.forget then -- the table was cleared
    for _, other in ipairs(job.waiting) do other.native.ask.forget = true end
  end
  table.remove(job.waiting, 1)
  former.leave(job, one)
  if one.consume then remove(job.folder, one.of) end
  table.insert(shrinking, one)
  if not job.waiting[1] then end_job(job) end
end

-- The same of a file that has nothing any more.
local function shrink(one)
  local ends = C.pg_monotonic_ns() + STEP_NS
  while C.pg_keep_former_shrink(one.native) do
    if C.pg_monotonic_ns() >= ends then return end
  end
  former.close(one)
  table.remove(shrinking, 1)
end

local function look_for_work()
  local more = shrinking[1] or next(at_work)
  visitor.patience = more and PATIENCE_S or nil
end

function visitor.tend()
  local _, job = next(at_work)
  if job then step(job) elseif shrinking[1] then shrink(shrinking[1]) end
  if visitor.patience then look_for_work() end
end

-- Those that can wait; the newest asks the one before it.
local function wait(job)
  local later
  for i = #job.waiting, 1, -1 do
    local one = job.waiting[i]
    one.native.next = later and later.native or nil
    for _, index in ipairs(job.item.restore.indexes()) do
      C.pg_keep_former_ask(one.native, index)
    end
    later = one
  end
  local n = 0
  for _, one in ipairs(job.waiting) do
    n = n + former.count(one)
  end
  log.info("--keep %s: %s goes on, and checks %d records while packets flow", job.name,
    job.item.of, n)
  at_work[job.item.of] = job
  visitor.patience = PATIENCE_S
  if not visitor.is_in then
    visitor.is_in = true
    outside.let_in(visitor)
  end
end

--- Stop going on with what is at work of the item called `of`, or of all (nil). What is
--- left of it stays in its files.
function going_on.stop(of)
  for each, job in pairs(at_work) do
    if not of or each == of then
      for _, one in ipairs(job.waiting) do
        former.leave(job, one)
        former.close(one)
      end
      at_work[each] = nil
    end
  end
  if not of then partial = {} end
end

--- Are there records in this Lua state that wait?
function going_on.is_at_work() return next(at_work) ~= nil end

--- Has a copy left what others had when it was stopped?
function going_on.is_partial(of) return partial[of] or false end

-- Go on with the records of former copies, which stay in their files: all of this
-- family's copies need those.
local function with_others(job, others)
  local item, few = job.item, going_on.FEW
  for _, other in ipairs(others) do
    local one = other.one
    if one then few = few - former.count(one) end
    if one and job.consume and #others <= MANY_OTHERS
      and few < 0 and former.can_wait(one, other.hints) then
      table.insert(job.waiting, one)
      partial[item.of] = true
    elseif one then
      former.take_all(job, one)
    elseif other.problem then
      former.refuse(job, other.problem)
    end
  end
end

--- The item has begun, or gets another file: what the process before this one had is
--- put aside (`is_new`). To be followed by begin(). job.stuck: why that can't be; then
--- the item may have no file, which would take the place of what is there.
function going_on.put_aside(item, folder, is_new)
  going_on.stop(item.of)
  if not is_new then return {} end
  local path = path_of(folder, item.of)
  local job = {item = item}
  if tree.exists(path) or stat.lstat(path) then
    local file, fd = files.look(path)
    if file then
      unistd.close(fd)
      job.stuck = put_aside(item, folder)
    else
      job.problem = fd
    end
  end
  return job
end

--- The item has all that was put aside, and a file of its own now: that isn't needed
--- any more.
function going_on.let_go(item, folder)
  for _, of in ipairs(formers_of(folder, item.of)) do remove(folder, of) end
  if item.family then family.finish(folder, item, files.file_of) end
end

--- Go on with what is there of the item, under the `name` in its folder; `job` is what
--- put_aside() has returned, `others` what open_others() has. `consume`: the item has a
--- file, so what was put aside isn't needed any more. job.taken: it was used before, by
--- an item of that name that had no file, which this one takes the place of.
function going_on.begin(job, others, item, name, folder, consume)
  job.item, job.name, job.folder, job.waiting = item, name, folder, {}
  job.consume = consume
  if job.taken then
    if consume then going_on.let_go(item, folder) end
    return end_job(job)
  end
  if job.problem then former.refuse(job, job.problem) end
  local all = formers_of(folder, item.of)
  local found = #others
  if job.stuck then table.insert(all, 1, item.of) end
  for _, of in ipairs(all) do
    local one, problem = former.open(job, path_of(folder, of), of, consume)
    found = found + (one and former.count(one) or 1)
    if not one then
      if problem then former.refuse(job, problem) end
    elseif consume and #all < MANY and former.count(one) > going_on.FEW
      and former.can_wait(one, hints_of(folder, of)) then
      job.waiting[#job.waiting + 1] = one
    else
      former.take_all(job, one)
    end
    if consume and one and job.waiting[#job.waiting] ~= one then remove(folder, of) end
  end
  if all[1] and found == 0 then
    log.info("--keep %s: %s starts empty: the file that is there has no records", name,
      item.of)
  end
  with_others(job, others)
  if job.waiting[1] then return wait(job) end
  end_job(job)
end

-- Those that were begun last first.
local function newest_first(paths)
  local time = {}
  for _, path in ipairs(paths) do
    local found = stat.lstat(path)
    time[path] = found and found.st_mtime or 0
  end
  table.sort(paths, function (a, b)
    if time[a] ~= time[b] then return time[a] > time[b] end
    return a < b
  end)
  return paths
end

--- Open the files of former copies (net.keep.family), for begin(). Before the item has
--- a file of its own: once no copy needs them any more, the files are removed.
function going_on.open_others(item, folder)
  local list, job = {}, {item = item}
  for i, path in ipairs(newest_first(family.others(folder, item, files.file_of))) do
    local of, problem = files.of(path)
    local one
    if of then one, problem = former.open(job, path, of, false, true) end
    list[i] = {one = one, problem = problem,
      hints = ("%s%s/%s"):format(folder, HINTS, path:match("[^/]*$"))}
  end
  return list
end

--- Where the item's hints are.
going_on.hints_of = hints_of
going_on.HINTS = HINTS

return going_on
