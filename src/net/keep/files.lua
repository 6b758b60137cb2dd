-- SPDX-License-Identifier: Apache-2.0
-- Files of kept records, as Lua sees them: their names, what is at their front, and
-- what they have (keep.c).

local C = require("core.declare")("net/keep/keep.h")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local ffi = require("ffi")
local main = require("core.main")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local files = {}

local LONGEST_FILE = 150
local O_NOFOLLOW = ffi.arch == "arm64" and 0x8000 or 0x20000 -- <fcntl.h>
--- How a file that is to be written is opened.
files.WRITE = fcntl.O_RDWR + fcntl.O_CREAT + fcntl.O_EXCL + fcntl.O_CLOEXEC + O_NOFOLLOW
local READ = fcntl.O_RDONLY + fcntl.O_NONBLOCK + fcntl.O_CLOEXEC + O_NOFOLLOW
local CHANGE = fcntl.O_RDWR + fcntl.O_NONBLOCK + fcntl.O_CLOEXEC + O_NOFOLLOW

--- The name of the file for what is called `of`. Letters that aren't plain are written
--- as numbers; of long names there is a part and a sum.
function files.file_of(of)
  local file = of:gsub("[^%w_-]", function (c) return ("%%%02X"):format(c:byte()) end)
  if #file <= LONGEST_FILE then return file end
  local sum = 5381
  for i = 1, #of do sum = (sum * 33 + of:byte(i)) % 2 ^ 48 end
  return ("%s~%012x"):format(file:sub(1, LONGEST_FILE), sum)
end

--- The most files of an item that are put aside (going_on.lua).
files.MOST_FORMERS = 64

--- What was `of` an item is called once it is put aside, as the number n.
function files.former_of(of, n) return ("%s former %d"):format(of, n) end

--- The numbers of what was put aside of the item `of` in the folder, the highest first.
function files.formers(folder, of)
  local list, stem = {}, files.file_of(of .. " former ")
  if stem:find("~", 1, true) then -- the number is in the sum
    for n = files.MOST_FORMERS, 1, -1 do
      local path = ("%s/%s"):format(folder, files.file_of(files.former_of(of, n)))
      if tree.exists(path) then list[#list + 1] = n end
    end
    return list
  end
  for _, file in ipairs(tree.names(folder)) do
    local n = file:sub(1, #stem) == stem and tonumber(file:match("^%d+$", #stem + 1))
    if n then list[#list + 1] = n end
  end
  table.sort(list, function (a, b) return a > b end)
  return list
end

--- Whose records a file that look() gave has, a text. `file`: its name, by which what
--- was put aside is told from what the process has that did so.
function files.owner(looked, file)
  local of = ffi.string(looked.header.of)
  if files.file_of(of) == file or not file:find("former", 1, true)
    and not file:find("~", 1, true) then
    return of
  end
  for n = 1, files.MOST_FORMERS do
    local former = files.former_of(of, n)
    if files.file_of(former) == file then return former end
  end
  return of
end

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
--- isn't used, behind "it"; nil alone: there is none. `change`: it is to be written,
--- too.
function files.look(path, change)
  local fd, reason, code = fcntl.open(path, change and CHANGE or READ)
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

--- Whose records the file has; nil and why it isn't used, as look().
function files.of(path)
  local file, fd = files.look(path)
  if not file then return nil, fd end
  unistd.close(fd)
  return ffi.string(file.header.of)
end

local notes_room -- for the text of a file's notes

--- The notes of a file that look() gave, a text; nil if they can't be read.
function files.notes(fd, file)
  notes_room = notes_room or ffi.new("char[?]", C.KEEP_NOTES)
  local n = tonumber(C.pg_keep_notes(fd, file, notes_room, C.KEEP_NOTES))
  return n >= 0 and ffi.string(notes_room, n) or nil
end

--- The records in use of a file that look() gave: a struct keep_records, which goes
--- with its reference, and the notes; nil and why they can't be read.
function files.read(file, fd, most)
  local found = ffi.gc(ffi.new("struct keep_records"), C.pg_keep_free)
  if not C.pg_keep_read(fd, file, most or C.FLOW_MOST, found) then
    return nil, ffi.string(file.problem)
  end
  local notes = files.notes(fd, file)
  if not notes then return nil, "has notes that can't be read" end
  return found, notes
end

local function put(field, text) -- the rest of the field stays 0
  ffi.copy(field, text, math.min(#text, ffi.sizeof(field) - 1))
end

--- A struct keep_header for a new file: of and layout as for records(), and how many
--- units of an expiry a second has (nil: 1000).
function files.new_header(of, layout, per_second)
  local h = ffi.new("struct keep_header")
  put(h.boot, boot_id())
  put(h.release, main.release or "")
  put(h.of, of)
  put(h.layout, layout)
  h.per_second = per_second or C.KEEP_PER_SECOND
  return h
end

--- How many units of an expiry a second has in a file that look() gave.
function files.per_second(file)
  local n = tonumber(file.header.per_second)
  return n > 0 and n or C.KEEP_PER_SECOND
end

return files
