-- SPDX-License-Identifier: Apache-2.0
-- C of programs of Snabb's, which its build links into the binary: compiled as a module
-- next to it is loaded, and kept in the user's cache, so that ffi.C has its functions.

local dirent = require("posix.dirent")
local failure = require("core.failure")
local ffi = require("ffi")
local main = require("core.main")
local stat = require("posix.sys.stat")
local unistd = require("posix.unistd")

local compile = {}

local looked_at = {} -- folders: the libraries of each, so that they stay loaded

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- The cache ---------------------------------------------------------------------------

-- Is it a folder that only this user can write to? (What is in it will be run.)
local function is_own(folder)
  local found = stat.lstat(folder)
  return found and stat.S_ISDIR(found.st_mode) ~= 0
    and found.st_uid == unistd.geteuid() and found.st_mode % 32 < 16
    and found.st_mode % 4 < 2
end

local function make_folder(folder)
  for parent in (folder .. "/"):gmatch("()/") do
    if parent > 1 then stat.mkdir(folder:sub(1, parent - 1), tonumber("700", 8)) end
  end
  return is_own(folder) and unistd.access(folder, "w") == 0
end

-- The folder for what is compiled; made if it isn't there.
local function cache()
  local home, own = os.getenv("HOME"), os.getenv("XDG_CACHE_HOME")
  local temporary = ("/tmp/perigee-%d"):format(unistd.geteuid())
  for _, folder in pairs{own and own .. "/perigee", home and home .. "/.cache/perigee",
                         temporary} do
    if folder and make_folder(folder) then return folder end
  end
  failure.raise("there is no folder to keep compiled C in; %s can't be used", temporary)
end

-- A number that stands for the text (FNV-1a, 32 bits).
local function digest(text)
  local hash = 2166136261
  for i = 1, #text do
    hash = bit.bxor(hash, text:byte(i)) % 2^32
    hash = tonumber(ffi.cast("uint32_t", hash * 16777619ULL))
  end
  return hash
end

-- Compiling ---------------------------------------------------------------------------

-- Is `library` there, and not older than what it was made of? `list` is the file in
-- which the compiler has noted that: "X: A B \".
local function is_fresh(library, list)
  local made, file = stat.stat(library), io.open(list)
  local text = file and file:read("*a")
  if file then file:close() end
  if not (made and text) then return false end
  for path in text:gsub("^[^:]*:", ""):gsub("\\\n", " "):gsub("\\ ", "\0")
      :gmatch("%S+") do
    local source = stat.stat((path:gsub("%z", " ")))
    if not source or source.st_mtime > made.st_mtime then return false end
  end
  return true
end

local function first_error(said)
  return said:match("[^\n]*error[^\n]*") or said:match("[^\n]+") or "no message"
end

-- Make the shared library of the C file `path` of the tree `dir`.
local function make(path, dir, library)
  local compiler = os.getenv("CC") or "cc"
  local draft = ("%s.%d"):format(library, unistd.getpid())
  local command = table.concat({compiler, "-O3 -shared -fPIC -D_GNU_SOURCE -MMD -MF",
    quoted(library .. ".d"), "-I", quoted(main.root .. "/snabb/native/include"), "-I",
    quoted(dir), "-o", quoted(draft), quoted(path), "2>&1; echo $?"}, " ")
  local pipe = io.popen(command)
  local said = pipe:read("*a")
  pipe:close()
  local status = tonumber(said:match("(%d+)\n$"))
  if status == 127 then
    failure.raise("%s has to be compiled, and there is no C compiler '%s'; install "
      .. "gcc, or name one in CC", path, compiler)
  elseif status ~= 0 or not os.rename(draft, library) then
    os.remove(draft)
    failure.raise("can't compile %s: %s", path, first_error(said))
  end
end

local function provide(path, dir)
  local absolute = path:match("^/") and path or unistd.getcwd() .. "/" .. path
  local library = ("%s/%s-%08x.so"):format(cache(), path:match("([^/]*)%.c$"),
    digest(absolute))
  if not is_fresh(library, library .. ".d") then make(absolute, dir, library) end
  local ok, made = pcall(ffi.load, library, true)
  if not ok then failure.raise("can't use what %s was compiled to: %s", path, made) end
  return made
end

--- Compile the C files of the folder, part of the tree `dir`, but for those whose
--- names are in the set `except`, and let ffi.C have their functions. Raises a failure
--- if that can't be.
function compile.folder(folder, dir, except)
  if looked_at[folder] then return end
  local libraries = {}
  looked_at[folder] = libraries
  local ok, names = pcall(dirent.dir, folder)
  if ok then table.sort(names) end
  for _, name in ipairs(ok and names or {}) do
    if name:match("%.c$") and not except[name] then
      libraries[name] = provide(folder .. "/" .. name, dir)
    end
  end
end

return compile
