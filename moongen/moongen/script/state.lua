-- SPDX-License-Identifier: Apache-2.0
-- A Lua state for a script: the module path, libmoon's globals, and the script's top
-- level. The main thread has one, and each task.

local arguments = require("moongen.arguments")
local failure = require("core.failure")
local exits = require("moongen.tasks.exits")
local globals = require("moongen.script.globals")
local luajit = require("core.luajit")
local paths = require("moongen.script.paths")

local state = {}

local STANDARD = {}
for name in ([[_G _VERSION assert bit collectgarbage coroutine debug dofile error gcinfo
  getfenv getmetatable io ipairs jit load loadfile loadstring math module newproxy next
  os package pairs pcall print rawequal rawget rawset require select setfenv
  setmetatable string table tonumber tostring type unpack xpcall]]):gmatch("%S+") do
  STANDARD[name] = true
end

-- The main thread's state has Snabb's globals, and is strict with others.
local function clear_globals()
  setmetatable(_G, nil)
  local others = {}
  for name in pairs(_G) do
    if not STANDARD[name] then others[#others + 1] = name end
  end
  for _, name in ipairs(others) do _G[name] = nil end
end

-- The FFI with libmoon's types. Libraries are found where modules are, with and without
-- "lib".
local function use_script_ffi()
  local ffi = require("moongen.packets.script_ffi")
  package.loaded.ffi = ffi
  local load = ffi.load
  ffi.load = function (name, ...) -- luacheck: ignore 122
    local ok, library = pcall(load, name, ...)
    if ok then return library end
    if type(name) ~= "string" then luajit.fail(library) end
    local folder, file = name:match("^(.+)/([^/]+)$")
    file = "lib" .. (file or name):gsub("^lib", "")
    local path, tried = package.searchpath(folder and folder .. "/" .. file or file,
      (paths.libraries():gsub("%?", "?.so")), "/")
    if not path then error(("%s%s"):format(library, tried), 2) end
    ok, library = pcall(load, path, ...)
    if not ok then luajit.fail(library) end
    return library
  end
end

-- Modules that are loaded before the script, since they set globals, or methods of
-- what others have; and since loading one in a running loop would throw away its code.
local FIRST = {"utils", "log", "packet", "device", "memory", "stats", "timer",
  "histogram", "timestamping", "filter", "pcap", "pipe", "namespaces", "moongen",
  "dpdk", "dpdkc"}

local function load_first()
  local packets = require("core.packet").methods
  require("moongen.measure.methods").add(require("device"), packets)
  for _, name in ipairs(FIRST) do
    if package.searchpath(name, package.path) then require(name) end
  end
end

--- Make this Lua state ready for the script at `script`. `master`: is it the main
--- thread's?
function state.prepare(script, master)
  clear_globals()
  paths.use(script)
  globals.set()
  exits.install(master)
  local arrays = require("moongen.memory.buffers").methods
  require("moongen.packets.offload").add_to(nil, arrays)
  arguments.methods(arrays, "an array of buffers (mem:bufArray())",
    require("ffi").typeof("struct mg_buffers"), {
      setVlans = "number, number?, number?",
      offloadIPChecksums = "any?, number?, number?, number?",
      offloadUdpChecksums = "any?, number?, number?, number?",
      offloadTcpChecksums = "any?, number?, number?, number?",
    })
  require("libmoon").config.userscript = script
  load_first()
  local trees = paths.trees()
  if #trees > 0 then require("moongen.script.checkout").use(trees) end
  use_script_ffi()
end

--- Run the script's top level. Raises what it raises; a failure if it can't be read.
function state.run(script)
  local file, why = io.open(script)
  if not file then failure.usage("can't read the script: %s", why) end
  file:close()
  local chunk, problem = loadfile(script)
  if not chunk then failure.raise("%s", problem) end
  chunk()
end

return state
