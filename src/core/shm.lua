-- SPDX-License-Identifier: Apache-2.0
-- Named objects in shared memory: files under shm.root, mapped. A name "a/b" belongs
-- to this process (<root>/<pid>/a/b, the pid asked afresh, so a fork has its own; with
-- other pid namespaces about, see core.shm.process_folders); "/a/b" is <root>/a/b.
-- Only files whose blocks are reserved are mapped: a full disk is an error when an
-- object is made, not a SIGBUS when it is used.

local C = require("core.native")
local ffi = require("ffi")
local errno = require("posix.errno")
local fcntl = require("posix.fcntl")
local grp = require("posix.grp")
local unistd = require("posix.unistd")
local ctype = require("core.lib.ctype")
local failure = require("core.failure")
local folders = require("core.shm.process_folders")
local tree = require("core.shm.tree")

ffi.cdef [[
  void *mmap(void *address, size_t length, int protection, int flags, int fd,
             int64_t offset);
  int munmap(void *address, size_t length);
  int mprotect(void *address, size_t length, int protection);
  int close(int fd);
]]

-- <sys/mman.h>
local PROT_NONE, PROT_READ, PROT_WRITE, MAP_SHARED = 0, 1, 2, 1
local MAP_PRIVATE, MAP_ANONYMOUS, MAP_NORESERVE = 0x2, 0x20, 0x4000
local MAP_FAILED = ffi.cast("void *", -1)


local shm = {}

--- The directory that holds everything; no "/" at its end.
shm.root = tree.choose_root()

--- Address (a number) of each mapped object -> bytes.
shm.mappings = {}

--- The name of an app or link as one part of an object's name: "gw/arp" is "gw:arp".
function shm.part(name) return (name:gsub("/", ":")) end

--- The name that shm.part made this of.
function shm.name_of_part(part) return (part:gsub(":", "/")) end

--- The path of `name` relative to shm.root.
function shm.resolve(name)
  for part in name:gmatch("[^/]+") do
    if part == ".." then
      error(("the shared memory name '%s' can't have '..' in it"):format(name), 2)
    end
  end
  local path = name:gsub("^/+", "")
  if path == name then path = folders.own_name(shm.root) .. "/" .. name end
  return path
end

--- The file of the object `name`.
function shm.path(name)
  return shm.root .. "/" .. shm.resolve(name)
end

--- Let members of the group (its name or number) read what this process makes from now
--- on: for who watches it (perigee top). Raises a failure if there is no such group.
function shm.share_with(name)
  local found = tonumber(name) and {gr_gid = tonumber(name)} or grp.getgrnam(name)
  if not found then failure.usage("there is no group '%s'", name) end
  tree.share_with(found.gr_gid, name)
end

-- The first part of the name of a process's directory.
local function is_own(path)
  return path:match("^[^/]*") == folders.own_name(shm.root)
end

-- Take this process's directory, which is removed as the process ends, also by SIGTERM.
local function claim()
  C.pg_end_in_order()
  return folders.claim(shm.root)
end

--- Make the directory `path`, relative to shm.root, and those above it.
function shm.mkdir(path)
  local own = is_own(path)
  if path:find("/") and (not own or folders.is_claimed(shm.root))
    and tree.make_in_place(shm.root .. "/" .. path) then return end
  tree.make_root(shm.root)
  if own then path = path:gsub("^[^/]*", claim()) end
  tree.make_directories(shm.root, path)
end

-- A process may have so many mappings (vm.max_map_count), and each object takes one.
-- Objects must leave some for LuaJIT, which can't go on without: once few are left,
-- this reserve is given up for that, and none is mapped until one is unmapped.
local PAGE, RESERVE = 4096, 128
local EVERY, FEW = 32, 72 -- after so many objects it is looked whether so many are left
local reserved -- its address; false: given up
local exhausted = false
local mapped = 0

-- The address of `n` mappings that lead nowhere: pages beside each other of which every
-- second may be read are a mapping each. And whether there are so many.
local function take_mappings(n)
  local flags = MAP_PRIVATE + MAP_ANONYMOUS + MAP_NORESERVE
  local memory = C.mmap(nil, n * PAGE, PROT_NONE, flags, -1, 0)
  if memory == MAP_FAILED then return nil, false end
  for i = 0, n - 1, 2 do
    local page = ffi.cast("char *", memory) + i * PAGE
    if C.mprotect(page, PAGE, PROT_READ) ~= 0 then return memory, false end
  end
  return memory, true
end

local function give_back(memory, n)
  if memory then C.munmap(memory, n * PAGE) end
end

local function give_reserve_up()
  give_back(reserved, RESERVE)
  reserved, exhausted = false, true
end

local function look_ahead()
  if reserved == nil then reserved = take_mappings(RESERVE) end
  if mapped % EVERY == 0 and not exhausted then
    local memory, enough = take_mappings(FEW)
    give_back(memory, FEW)
    if not enough then give_reserve_up() end
  end
  mapped = mapped + 1
end

local function map(name, fd, size, protection)
  local code = errno.ENOMEM
  look_ahead()
  if not exhausted then
    local memory = C.mmap(nil, size, protection, MAP_SHARED, fd, 0)
    if memory ~= MAP_FAILED then return memory end
    code = ffi.errno()
  end
  if code == errno.ENOMEM then give_reserve_up() end
  local hint = code == errno.ENOMEM and "; vm.max_map_count limits the mappings" or ""
  tree.refuse(code, "can't map %s: %s%s", shm.path(name), errno.errno(code), hint)
end

-- Addresses of numbers and pointers: a conversion of such an object takes its value.
local scalars = setmetatable({}, {__mode = "k"})

local function map_object(fd, name, object_type, size, protection)
  local memory = map(name, fd, size, protection)
  local address = shm.pointer_to_number(memory)
  shm.mappings[address] = size
  local object = ffi.cast(ctype.reference_to(object_type), memory)
  local same, found = pcall(shm.pointer_to_number, object)
  if not same or found ~= address then scalars[object] = address end
  return object
end

-- Call func(fd, ...), close `fd` even if that fails, and return the result.
local function closing(fd, func, ...)
  local ok, result = pcall(func, fd, ...)
  C.close(fd)
  if not ok then error(result, 0) end
  return result
end

-- What can't be done at each step of pg_shm_file, and what it is done with.
local STEPS = {
  [C.SHM_OPEN] = function (code, path)
    tree.refuse(code, "can't open shared memory: %s: %s", path, errno.errno(code))
  end,
  [C.SHM_RESERVE] = function (code, path, size)
    tree.refuse(code, "can't reserve %d bytes for %s: %s", size, path,
      errno.errno(code))
  end,
  [C.SHM_NAME] = function (code, path)
    tree.refuse(code, "can't make %s: %s", path, errno.errno(code))
  end,
}

local file = ffi.new("struct shm_file")

local function paths_of(name)
  local path = shm.path(name)
  local directory, last = path:match("^(.*)/([^/]*)$")
  return path, ("%s/.%s.%s"):format(directory, last, folders.own_suffix()), directory
end

-- A descriptor of the file of the object `name`, which is made if there is none.
local function made_file(name, size)
  if name:sub(1, 1) ~= "/" and not folders.is_claimed(shm.root) then
    shm.mkdir(shm.resolve(name):match("^[^/]*"))
  end
  local path, hidden, directory = paths_of(name)
  file.size, file.mode, file.group = size, tree.file_mode(), tree.group() or -1
  local fd = C.pg_shm_file(file, path, hidden)
  if fd < 0 and ffi.errno() == errno.ENOENT then
    shm.mkdir(directory:sub(#shm.root + 2))
    path, hidden = paths_of(name) -- the process's directory may have another name now
    fd = C.pg_shm_file(file, path, hidden)
  end
  if fd < 0 then STEPS[file.step](ffi.errno(), path, tonumber(size)) end
  return fd
end

--- Make (or reuse) the object `name` of the C type `object_type`, a struct or an array
--- (and the length of its variable part, if it has one), map it and return a reference
--- to it. A new one is all zeros. Raises a failure if there is no room or permission.
function shm.create(name, object_type, ...)
  object_type = ffi.typeof(object_type)
  local size = ffi.sizeof(object_type, ...)
  return closing(made_file(name, size), map_object, name, object_type, size,
    PROT_READ + PROT_WRITE)
end

--- Map the existing object `name`; writing to it crashes if `readonly`. Raises a
--- failure if there is none or it is smaller than its type.
function shm.open(name, object_type, readonly, ...)
  object_type = ffi.typeof(object_type)
  local size = ffi.sizeof(object_type, ...)
  local fd, reason, code = fcntl.open(shm.path(name),
    readonly and fcntl.O_RDONLY or fcntl.O_RDWR)
  if not fd then tree.refuse(code, "can't open shared memory: %s", reason) end
  return closing(fd, function()
    local available = unistd.lseek(fd, 0, unistd.SEEK_END)
    if available < size then
      failure.raise("shared memory %s has %d bytes, not the %d of its type",
        shm.path(name), available, tonumber(size))
    end
    return map_object(fd, name, object_type, size,
      readonly and PROT_READ or PROT_READ + PROT_WRITE)
  end)
end

--- The address in `pointer` (or of what it refers to) as a number.
function shm.pointer_to_number(pointer)
  return tonumber(ffi.cast("uintptr_t", ffi.cast("void *", pointer)))
end

--- Unmap the object that create or open returned; it must not be used afterwards.
function shm.unmap(object)
  local address = scalars[object] or shm.pointer_to_number(object)
  local size = shm.mappings[address]
    or error(("no shared memory object is mapped at 0x%x"):format(address), 2)
  shm.mappings[address] = nil
  C.munmap(ffi.cast("void *", address), size)
  exhausted = false
end

--- Unmap all objects: for a thread that ends while the process goes on.
function shm.unmap_all()
  for address, size in pairs(shm.mappings) do
    C.munmap(ffi.cast("void *", address), size)
  end
  shm.mappings = {}
  give_reserve_up()
end

--- Is there an object or directory `name`?
function shm.exists(name)
  return tree.exists(shm.path(name))
end

--- Make `name` a symbolic link to `target`, which needn't exist yet.
function shm.alias(name, target)
  shm.mkdir(shm.resolve(name):match("^(.*)/") or "")
  local ok, reason = unistd.link(shm.path(target), shm.path(name), true)
  if not ok then
    failure.raise("can't alias %s to %s: %s", name, shm.path(target), reason)
  end
end

--- Remove `name` and, if it is a directory, all in it; what is mapped stays mapped.
--- Returns true, or nil and the reason.
function shm.unlink(name)
  local path = shm.resolve(name)
  if not path:find("[^/]") then error("shm.unlink would remove all of shm.root", 2) end
  return tree.remove(shm.root .. "/" .. path)
end

--- The names in the directory `name`, sorted; none if there is no such directory.
function shm.children(name)
  return tree.names(shm.path(name))
end

--- Remove this process's objects, unless SNABB_SHM_KEEP is set.
function shm.cleanup()
  folders.leave(shm.root)
end

--- Remove what dead processes left behind. Returns how many there were.
function shm.sweep()
  return folders.sweep(shm.root)
end

local frames = require("core.shm_frame")(shm)
shm.types = frames.types
shm.register, shm.provide, shm.view = frames.register, frames.provide, frames.view
shm.create_frame = frames.create_frame
shm.open_frame = frames.open_frame
shm.delete_frame = frames.delete_frame

return require("core.lib.arguments").guard(shm, "shm", {
  create = "string, ctype", open = "string, ctype", exists = "string",
  unlink = "string",
  children = "string", mkdir = "string", alias = "string, string", unmap = "mapped",
  create_frame = "string, table", open_frame = "string", delete_frame = "table",
})
