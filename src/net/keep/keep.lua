-- SPDX-License-Identifier: Apache-2.0
-- What a process keeps under a name (--keep NAME): records in files in shared memory,
-- which are there after any end of it, and which the next process with that name goes
-- on with (README.md).

local declare = require("core.declare")
local C, F = declare("net/keep/keep.h"), declare("net/flow/flow.h")
local dirent = require("posix.dirent")
local ending = require("net.keep.ending")
local errno = require("posix.errno")
local failure = require("core.failure")
local family = require("net.keep.family")
local fcntl = require("posix.fcntl")
local files = require("net.keep.files")
local former = require("net.keep.former")
local going_on = require("net.keep.going_on")
local ffi = require("ffi")
local file_lock = require("core.lib.file_lock")
local log = require("core.lib.log")
local memory = require("net.keep.memory")
local outside = require("core.outside.visitors")
local patience = require("core.lib.patience")
local shm = require("core.shm")
local standby = require("net.keep.standby")
local stat = require("posix.sys.stat")
local stdio = require("posix.stdio")
local this_engine = require("core.this_engine")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local keep = {}

local PATIENCE_S, PAUSE_S = 2, 0.01 -- for one that is just being killed
local OWN, OWN_FILE = 448, 384 -- rwx------, rw-------
local LONGEST_NAME = 64
local RETRY_S = 1 -- between attempts where there was no room
local HINTS = going_on.HINTS

--- Files: net.keep.files. PASS, counts: net.keep.former.
keep.WRITE, keep.file_of, keep.look = files.WRITE, files.file_of, files.look
keep.notes, keep.read, keep.new_header = files.notes, files.read, files.new_header
keep.per_second, keep.owner = files.per_second, files.owner
keep.PASS, keep.TWICE, keep.counts = former.PASS, former.TWICE, former.counts

-- Names -----------------------------------------------------------------------------

local name, lock -- of this process
local live = {} -- whose records are in files that this engine has begun
local unkept = {} -- items whose records have no file, by `of`
local retries = {} -- looks now and then whether they can have one

--- The name under which this process keeps its state, or nil.
function keep.name() return name end

-- $PERIGEE_KEEP_ROOT, a folder: services that are users of their own have one each.
local function root() return os.getenv("PERIGEE_KEEP_ROOT") or shm.root end

--- Where all names are, or the one.
function keep.folder(of)
  return root() .. "/keep" .. (of and "/" .. of or "")
end

--- Is the text a name? If not, what is wrong with it.
function keep.check_name(text)
  if #text <= LONGEST_NAME and text:match("^%w[%w_.-]*$") then return true end
  return false, ("a name has up to %d letters, digits, '-', '_' and '.', a letter or "
    .. "digit first"):format(LONGEST_NAME)
end

-- Is it a folder of this user's, to which nobody else has access? Why not.
local function is_ours(path)
  local found, reason = stat.lstat(path)
  if not found then return false, reason end
  if stat.S_ISDIR(found.st_mode) == 0 then return false, "it is no folder" end
  if found.st_uid ~= unistd.geteuid() then
    return false, ("it belongs to the user %d"):format(found.st_uid)
  elseif found.st_mode % 64 ~= 0 then
    return false, ("others have access to it: its mode is %o"):format(
      found.st_mode % 512)
  end
  return true
end

local function own_folder(path)
  local made, reason, code = stat.mkdir(path, OWN)
  if not made and code ~= errno.EEXIST then
    failure.raise("can't make the folder for kept state: %s", reason)
  end
  local ours, why = is_ours(path)
  if not ours then
    failure.raise("the folder for kept state, %s, can't be used: %s; remove it", path,
      why)
  end
end

-- Files that a process was about to write when it was killed.
local function sweep(path)
  local listed, all = pcall(dirent.dir, path)
  for _, file in ipairs(listed and all or {}) do
    if file:match("^%.[^.]") then unistd.unlink(path .. "/" .. file) end
  end
end

--- Where hints about the file of `of` under the name are (net.flow), and their folder.
function keep.hints_of(name_of, of)
  local folder = keep.folder(name_of)
  return going_on.hints_of(folder, of), folder .. HINTS
end

--- Is a process using the name?
function keep.is_used(of) return file_lock.is_held(keep.folder(of)) end

--- Keep state under the name from now on. A failure if it is no name, or another
--- process has it. A worker's engine takes part in what the process has.
function keep.use(text)
  local good, problem = keep.check_name(text)
  if not good then failure.usage("--keep %s: %s", text, problem) end
  name = text
  if this_engine.worker() then return end
  if root() == shm.root then tree.make_root(shm.root) end
  own_folder(keep.folder())
  local path = keep.folder(name)
  own_folder(path)
  local fd, holder_path = file_lock.open(path), standby.holder_path(keep.folder(), name)
  local function begin()
    lock = fd and standby.last_closed(fd)
    outside.let_in{ran_out = keep.leave}
    memory.watch(name)
    sweep(path)
    sweep(path .. HINTS)
    standby.sweep(keep.folder(), name)
    ending.note(holder_path)
    family.hand_over(path)
  end
  if fd and standby.take_turn(fd, name, begin, keep.folder()) then return end
  local limit = fd and patience.new(PATIENCE_S, standby.holder(fd))
  while fd and not file_lock.try(fd) do
    if limit:over() then
      failure.raise("--keep %s: another process keeps its state under this name", name)
    end
    C.pg_sleep(PAUSE_S)
  end
  standby.turn.await(ending.of(holder_path))
  begin()
end

--- Keep nothing from now on, and let others have the name. What is there stays.
function keep.leave()
  going_on.stop()
  if lock then unistd.close(lock) end
  name, lock, live, unkept = nil, nil, {}, {}
end

--- The same for a process that runs on: nobody waits for its end.
function keep.give_up()
  if lock then os.remove(standby.holder_path(keep.folder(), name)) end
  keep.leave()
end

-- Call write(fd) with a new file, which then takes the place of `path`. Why it doesn't.
local function replace(hidden, path, write)
  unistd.unlink(hidden)
  local fd, reason = fcntl.open(hidden, keep.WRITE, OWN_FILE)
  if not fd then return reason end
  local problem = not write(fd) and errno.errno(ffi.errno()) or nil
  unistd.close(fd)
  if not problem then
    local ok, why = stdio.rename(hidden, path)
    problem = not ok and why or nil
  end
  if problem then unistd.unlink(hidden) end
  return problem
end

-- The records' file, and where it is.
local function begin_file(item, path)
  local hidden, inode = keep.folder(name) .. "/." .. keep.file_of(item.of), nil
  local h = keep.new_header(item.of, item.layout, item.per_second)
  return replace(hidden, path, function (fd)
    inode = stat.lstat(hidden).st_ino
    return C.pg_keep_begin(fd, h, item.records, item.notes, #item.notes)
  end), inode
end

-- Hints about where records are, for the next process. It can do without them.
local function begin_hints(item, inode)
  local indexes = item.restore and item.restore.indexes() or {}
  if not indexes[1] then return end
  local folder = keep.folder(name)
  stat.mkdir(folder .. HINTS, OWN)
  local hidden = ("%s%s/.%s"):format(folder, HINTS, keep.file_of(item.of))
  replace(hidden, going_on.hints_of(folder, item.of), function (fd)
    local hints = F.pg_flow_hints_new(fd, inode, indexes[1])
    if hints == nil then return false end
    for _, index in ipairs(indexes) do F.pg_flow_hints_attach(hints, index) end
    return true
  end)
end

-- The records lie in a file from now on; or why not.
local function begin(item)
  local path = ("%s/%s"):format(keep.folder(name), keep.file_of(item.of))
  local problem, inode = begin_file(item, path)
  if problem then return problem end
  begin_hints(item, inode)
  live[item.of] = true
end

-- They can't, now: go on trying. What the process before this one had stays until then.
local function put_off(item, problem)
  unkept[item.of] = item
  log.warning("--keep %s: the state of %s isn't kept: %s; tried again each second",
    name, item.of, problem)
  retries.patience, retries.due = RETRY_S, C.pg_monotonic() + RETRY_S
  if retries.is_in then return end
  retries.is_in = true
  outside.let_in(retries)
end

function retries.tend()
  if not retries.patience or C.pg_monotonic() < retries.due then return end
  retries.due = C.pg_monotonic() + RETRY_S
  for of, item in pairs(unkept) do
    if not begin(item) then
      unkept[of] = nil
      going_on.let_go(item, keep.folder(name))
      log.info("--keep %s: the state of %s is kept from now on", name, of)
    end
  end
  if not next(unkept) then retries.patience = nil end
end

local LONGEST_OF = 255

--- Keep these records from now on, after going on with those that are there, unless
--- this engine had them already. `item`: of (whose they are: a text that the next
--- process has, too), records (struct flow_records), layout (a text that changes with
--- what a record is), notes (a text for begin()), per_second (units of an expiry in a
--- second of the monotonic clock; nil: 1000), begin(notes): of a function of a
--- record (a pointer; the one that goes first comes first) that uses it, or says why
--- not (keep.PASS: it isn't counted); done(), optional: that was all; restore,
--- optional, so that many records can be taken over while packets flow: call (a
--- keep_restore), context(notes), which it is given (and what that needs), reasons
--- (texts by what it returns), and indexes(), a list of the struct flow_index that find
--- the records, and, optional, at_once(), must they be there before packets come?, own,
--- a keep_own, most, records in a step, and made(), called behind each; and now(), in
--- units of an expiry. see, optional: a keep_see, which is shown all records
--- of a file before any is restored, and then seen() is called; its context is that of
--- restore, or what begin() returns behind its function. Of what has
--- copies also family, copies and moves (net.keep.family): a copy gets the records that
--- other copies have left, those for which own() is true. Without --keep this does
--- nothing. What can't be kept (memory is full) is tried again each second, and the
--- program goes on.
function keep.records(item)
  if not name then return end
  if standby.turn.waits() then return standby.turn.after(keep.records, item) end
  if #item.of > LONGEST_OF then
    log.warning("--keep %s: what '%s' has isn't kept: its name has over %d bytes", name,
      item.of, LONGEST_OF)
    if item.done then item.done() end
    return
  end
  local folder, taken = keep.folder(name), unkept[item.of] ~= nil
  local is_new = not (live[item.of] or taken)
  local others = item.family and (is_new or going_on.is_partial(item.of))
    and going_on.open_others(item, folder) or {}
  local job = going_on.put_aside(item, folder, is_new)
  job.taken, unkept[item.of] = taken, nil
  local problem = job.stuck or begin(item)
  if problem then put_off(item, problem) end
  going_on.begin(job, others, item, name, folder, not problem)
end

return keep
