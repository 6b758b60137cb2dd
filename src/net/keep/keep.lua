-- SPDX-License-Identifier: Apache-2.0
-- What a process keeps under a name (--keep NAME): records in files in shared memory,
-- which are there after any end of it, and which the next process with that name goes
-- on with (README.md).

local C = require("core.declare")("net/keep/keep.h")
local errno = require("posix.errno")
local failure = require("core.failure")
local family = require("net.keep.family")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local file_lock = require("core.lib.file_lock")
local log = require("core.lib.log")
local main = require("core.main")
local outside = require("core.outside.visitors")
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
local LONGEST_NAME, LONGEST_FILE = 64, 150
local O_NOFOLLOW = ffi.arch == "arm64" and 0x8000 or 0x20000 -- <fcntl.h>
--- How a file that is to be written is opened.
keep.WRITE = fcntl.O_RDWR + fcntl.O_CREAT + fcntl.O_EXCL + fcntl.O_CLOEXEC + O_NOFOLLOW
local READ = fcntl.O_RDONLY + fcntl.O_NONBLOCK + fcntl.O_CLOEXEC + O_NOFOLLOW

-- Names -----------------------------------------------------------------------------

local name, lock -- of this process
local live = {} -- whose records are in files that this engine has begun

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
  for file in require("posix.dirent").files(path) do
    if file:match("^%.[^.]") then unistd.unlink(path .. "/" .. file) end
  end
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
  local fd = file_lock.open(path)
  local function begin()
    lock = fd and standby.last_closed(fd)
    outside.let_in{ran_out = keep.leave}
    sweep(path)
    family.hand_over(path)
  end
  if fd and standby.take_turn(fd, name, begin, keep.folder()) then return end
  local ends = C.pg_monotonic() + PATIENCE_S
  while fd and not file_lock.try(fd) do
    if C.pg_monotonic() > ends then
      failure.raise("--keep %s: another process keeps its state under this name", name)
    end
    C.pg_sleep(PAUSE_S)
  end
  begin()
end

--- Keep nothing from now on, and let others have the name. What is there stays.
function keep.leave()
  if lock then unistd.close(lock) end
  name, lock, live = nil, nil, {}
end

--- The name of the file for what is called `of`. Letters that aren't plain are written
--- as numbers; of long names there is a part and a sum.
function keep.file_of(of)
  local file = of:gsub("[^%w_-]", function (c) return ("%%%02X"):format(c:byte()) end)
  if #file <= LONGEST_FILE then return file end
  local sum = 5381
  for i = 1, #of do sum = (sum * 33 + of:byte(i)) % 2 ^ 48 end
  return ("%s~%012x"):format(file:sub(1, LONGEST_FILE), sum)
end

-- Files -----------------------------------------------------------------------------

local boot -- of the machine

local function boot_id()
  if not boot then
    local file = io.open("/proc/sys/kernel/random/boot_id")
    boot = file and file:read("*l") or ""
    if file then file:close() end
  end
  return boot
end

--- Look at a file: its struct keep_file and a descriptor, to be closed; nil and why it
--- isn't used, behind "it"; nil alone: there is none.
function keep.look(path)
  local fd, reason, code = fcntl.open(path, READ)
  if not fd then
    if code == errno.ENOENT then return nil end
    if code == errno.ELOOP then return nil, "is a symbolic link" end
    return nil, "can't be opened: " .. reason
  end
  local file = ffi.new("struct keep_file")
  local good = C.pg_keep_look(fd, file)
  if good and ffi.string(file.header.boot) ~= boot_id() then
    good = false
    ffi.copy(file.problem, "is from before the machine was started")
  end
  if good then return file, fd end
  unistd.close(fd)
  return nil, ffi.string(file.problem)
end

local notes_room -- for the text of a file's notes

--- The notes of a file that look() gave, a text; nil if they can't be read.
function keep.notes(fd, file)
  notes_room = notes_room or ffi.new("char[?]", C.KEEP_NOTES)
  local n = tonumber(C.pg_keep_notes(fd, file, notes_room, C.KEEP_NOTES))
  return n >= 0 and ffi.string(notes_room, n) or nil
end

--- The records in use of a file that look() gave: a struct keep_records, which goes
--- with its reference, and the notes; nil and why they can't be read.
function keep.read(file, fd, most)
  local found = ffi.gc(ffi.new("struct keep_records"), C.pg_keep_free)
  if not C.pg_keep_read(fd, file, most or C.FLOW_MOST, found) then
    return nil, ffi.string(file.problem)
  end
  local notes = keep.notes(fd, file)
  if not notes then return nil, "has notes that can't be read" end
  return found, notes
end

-- Does the file have records of the kind?
local function fits(file, item, of)
  local h, r = file.header, item.records
  if ffi.string(h.of) ~= of then
    return false, ("is of '%s'"):format(ffi.string(h.of))
  elseif ffi.string(h.layout) ~= item.layout or h.record_size ~= r.size
    or h.age_at ~= r.age_at then
    return false, ("has records of the layout '%s', %d bytes, and '%s', %d, is needed")
      :format(ffi.string(h.layout), h.record_size, item.layout, r.size)
  end
  return true
end

-- Going on --------------------------------------------------------------------------

-- Why records weren't used, with their numbers, the most frequent reason first.
local function reasons_text(counts)
  local list = {}
  for reason, n in pairs(counts) do list[#list + 1] = {reason, n} end
  table.sort(list, function (a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[1] < b[1]
  end)
  for i, each in ipairs(list) do list[i] = ("%d %s"):format(each[2], each[1]) end
  return table.concat(list, ", ")
end

--- What restore() says of a record that is no business of this process.
keep.PASS = false

-- Give each record to restore(): how many were used, how many weren't, and these by
-- reason.
local function restore_all(found, restore)
  local used, passed, counts = 0, 0, {}
  for i = 0, found.n - 1 do
    local reason = restore(found.record + i * ffi.cast("size_t", found.size))
    if reason == keep.PASS then
      passed = passed + 1
    elseif reason then
      counts[reason] = (counts[reason] or 0) + 1
    else
      used = used + 1
    end
  end
  return used, found.n - used - passed, counts
end

local function refuse(item, problem)
  log.warning("--keep %s: the state of %s isn't used: its file %s", name, item.of,
    problem)
  keep.refused = keep.refused + 1
end

--- Files that weren't used, records that were, and records that weren't, since the
--- process began.
keep.refused, keep.used, keep.dropped = 0, 0, 0

-- Whose records the file has: the item's, or, `foreign`, those of another copy.
local function go_on(item, path, foreign)
  local file, fd = keep.look(path)
  if not file then
    if fd then refuse(item, fd) end
    return
  end
  local of = ffi.string(file.header.of)
  local good, problem = fits(file, item, foreign and of or item.of)
  local found, notes
  if good then found, notes = keep.read(file, fd, item.records.most) end
  unistd.close(fd)
  if not found then return refuse(item, problem or notes) end
  local used, dropped, counts = restore_all(found, item.begin(notes, foreign))
  C.pg_keep_free(found)
  keep.used, keep.dropped = keep.used + used, keep.dropped + dropped
  if used + dropped == 0 then return end
  log.info("--keep %s: %s goes on with %d of %d records%s%s", name, item.of, used,
    used + dropped, foreign and (" of " .. of) or "",
    dropped > 0 and ("; not used: %s"):format(reasons_text(counts)) or "")
end

-- The item's file; if there is none, those of other copies.
local function go_on_with_all(item, path)
  if not item.family or tree.exists(path) then return go_on(item, path) end
  for _, other in ipairs(family.others(keep.folder(name), item, keep.file_of)) do
    go_on(item, other, true)
  end
end

local function put(field, text) -- the rest of the field stays 0
  ffi.copy(field, text, math.min(#text, ffi.sizeof(field) - 1))
end

--- A struct keep_header for a new file: of and layout as for records(), and how many
--- units of an expiry a second has (nil: 1000).
function keep.new_header(of, layout, per_second)
  local h = ffi.new("struct keep_header")
  put(h.boot, boot_id())
  put(h.release, main.release or "")
  put(h.of, of)
  put(h.layout, layout)
  h.per_second = per_second or C.KEEP_PER_SECOND
  return h
end

--- How many units of an expiry a second has in a file that look() gave.
function keep.per_second(file)
  local n = tonumber(file.header.per_second)
  return n > 0 and n or C.KEEP_PER_SECOND
end

local function begin_file(item, path)
  local hidden = keep.folder(name) .. "/." .. keep.file_of(item.of)
  unistd.unlink(hidden)
  local fd, reason = fcntl.open(hidden, keep.WRITE, OWN_FILE)
  if not fd then return reason end
  local h = keep.new_header(item.of, item.layout, item.per_second)
  local done = C.pg_keep_begin(fd, h, item.records, item.notes, #item.notes)
  local problem = not done and errno.errno(ffi.errno()) or nil
  unistd.close(fd)
  if not problem then
    local ok, why = stdio.rename(hidden, path)
    problem = not ok and why or nil
  end
  if problem then unistd.unlink(hidden) end
  return problem
end

local LONGEST_OF = 255

--- Keep these records from now on, after going on with those that are there, unless
--- this engine had them already. `item`: of (whose they are: a text that the next
--- process has, too), records (struct flow_records), layout (a text that changes with
--- what a record is), notes (a text for begin()), per_second (units of an expiry in a
--- second of the monotonic clock; nil: 1000), begin(notes): of a function of a
--- record (a pointer; the one that goes first comes first) that uses it, or says why
--- not (keep.PASS: it isn't counted); done(), optional: that was all. Of what has
--- copies also family, copies and moves (net.keep.family): without a file of its own a
--- copy gets the records of others, `begin(notes, true)`. Without --keep this does
--- nothing. What can't be kept is told, and the program goes on.
function keep.records(item)
  if not name then return end
  if standby.turn.waits() then return standby.turn.after(keep.records, item) end
  if #item.of > LONGEST_OF then
    log.warning("--keep %s: what '%s' has isn't kept: its name has over %d bytes", name,
      item.of, LONGEST_OF)
    return
  end
  local path = ("%s/%s"):format(keep.folder(name), keep.file_of(item.of))
  if not live[item.of] then go_on_with_all(item, path) end
  if item.done then item.done() end
  local problem = begin_file(item, path)
  if problem then
    log.warning("--keep %s: the state of %s isn't kept: %s", name, item.of, problem)
    return
  end
  live[item.of] = true
  if item.family then family.sweep(keep.folder(name), item, keep.file_of) end
end

return keep
