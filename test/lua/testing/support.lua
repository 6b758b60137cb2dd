-- SPDX-License-Identifier: Apache-2.0
-- For specs: other perigee processes (what would end or starve this one is tried in
-- them), packets as texts, measuring and waiting on a busy machine, and apps that note
-- what the engine does with them.

local ffi = require("ffi")
local C = require("core.native")
local failure = require("core.failure")
local files = require("core.lib.files")
local health = require("core.watch.health")
local jit_util = require("jit.util")
local link = require("core.link")
local packet = require("core.packet")
local unistd = require("posix.unistd")
local vmdef = require("jit.vmdef")

local testing = {}

local PATIENCE_SECONDS = 20

--- The folder that modules such as this one are found in: other processes get it by -p.
testing.folder = debug.getinfo(1, "S").source:match("^@(.*)/testing/support%.lua$")

local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- What `perigee ARGUMENTS` (a list of strings) prints on stdout and stderr,
--- and its exit status. It is killed after 600 seconds: status 124.
function testing.perigee(arguments)
  local words = {"timeout 600", quoted(assert(unistd.readlink("/proc/self/exe")))}
  for _, word in ipairs(arguments) do words[#words + 1] = quoted(word) end
  local pipe = io.popen(table.concat(words, " ") .. " 2>&1 </dev/null; echo $?")
  local text = pipe:read("*a")
  pipe:close()
  local said, status = text:match("^(.-)(%d+)\n$")
  return said, tonumber(status)
end

--- The name of a new file that holds the text; to be removed.
function testing.temporary(text)
  local name = os.tmpname()
  files.writefile(name, text)
  return name
end

--- Remove the file, and what would have taken its place (core.lib.atomic_file).
function testing.remove(path)
  os.remove(path)
  os.remove(path .. ".new")
end

--- The same of `perigee OPTIONS run FILE ARGUMENTS`, where FILE holds `code`.
function testing.script(code, options, arguments)
  local name = testing.temporary(code)
  local words = {"-p", testing.folder}
  for _, word in ipairs(options or {}) do words[#words + 1] = word end
  words[#words + 1] = "run"
  words[#words + 1] = name
  for _, word in ipairs(arguments or {}) do words[#words + 1] = word end
  local said, status = testing.perigee(words)
  os.remove(name)
  return said, status
end

--- Put a packet of each of the list of texts into the link.
function testing.send(l, texts)
  for _, text in ipairs(texts) do link.transmit(l, packet.from_string(text)) end
end

--- The bytes of the packet, which is freed.
function testing.bytes_of(p)
  local bytes = ffi.string(p.data, p.length)
  packet.free(p)
  return bytes
end

--- Take all packets out of the link and free them; a list of their texts.
function testing.take(l)
  local texts = {}
  for i = 1, link.nreadable(l) do texts[i] = testing.bytes_of(link.receive(l)) end
  return texts
end

--- What parse(), of a list of words, raises for the text; behind `first`, a text, too.
function testing.refusal(parse, text, first)
  local list = {}
  for word in ((first or "") .. " " .. text):gmatch("%S+") do list[#list + 1] = word end
  local ok, err = pcall(parse, list)
  return not ok and tostring(err) or nil
end

-- By how much everything takes longer now, for what else the machine does (0.06 is 6
-- percent): a long run of additions, against what one takes in a short run.
local function disturbance()
  local RUN, RUNS = 100000, 1000
  local cpu, core_per_tsc = C.pg_thread_cpu_seconds(), C.pg_core_per_tsc()
  for _ = 1, RUNS do C.pg_spin(RUN) end
  local cycles = (C.pg_thread_cpu_seconds() - cpu) * tonumber(C.pg_tsc_hz())
  return math.max(0, cycles * core_per_tsc / (RUN * RUNS) - 1)
end

--- Does measure() return a number within `tolerance` of `expected`, 0 or 1? It is tried
--- for up to 20 seconds, and as much more is tolerated as other work on the machine
--- makes everything take longer. Returns whether, and a sentence if not.
function testing.near(expected, tolerance, measure)
  local ends, least, allowed = C.pg_monotonic() + PATIENCE_SECONDS, math.huge, tolerance
  repeat
    local off = math.abs(measure() - expected)
    if off >= tolerance then allowed = tolerance + disturbance() end
    if off < allowed then return true end
    least = math.min(least, off)
  until C.pg_monotonic() > ends
  return false, ("%.3f off %g at least, where %.3f is allowed"):format(least, expected,
    allowed)
end

--- How many places LuaJIT gives up for good (blacklists) while f(...) runs, and what
--- that returns.
function testing.given_up(f, ...)
  local given_up = 0
  local function on_trace(what, _, _, _, code)
    if what == "abort" and vmdef.traceerr[code]:find("^blacklisted") then
      given_up = given_up + 1
    end
  end
  health.listen(on_trace)
  local result = f(...)
  health.listen(nil)
  return given_up, result
end

--- Wait until `done()` is true; false when that takes longer than 10 s.
function testing.wait_for(done)
  local ends = C.pg_monotonic() + 10
  repeat
    if done() then return true end
    C.pg_sleep(0.01)
  until C.pg_monotonic() > ends
  return false
end

--- A class whose apps append "NAME METHOD STRINGS" to `log` (an array) for each
--- call of one of `methods`, with the arguments that are strings; and "NAME
--- new". An app's name is its argument, or the argument's `name`.
function testing.noting_class(log, methods)
  local class = {}
  function class:new(arg)
    local name = type(arg) == "table" and arg.name or arg
    log[#log + 1] = name .. " new"
    return setmetatable({name = name}, {__index = self})
  end
  for _, method in ipairs(methods) do
    class[method] = function (self, ...)
      local words = {self.name, method}
      for _, word in ipairs{...} do
        if type(word) == "string" then words[#words + 1] = word end
      end
      log[#log + 1] = table.concat(words, " ")
    end
  end
  return class
end

--- The sentence with which f(...) refuses what a user said (exit status 2).
function testing.usage_error(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "it refuses nothing")
  assert(failure.is(err), tostring(err))
  assert(err.status == 2, "its exit status is " .. err.status)
  return tostring(err)
end

--- The machine code's size, in bytes, of the trace of `loop`, a function that goes
--- round so many times; and how many instructions of LuaJIT's intermediate form it was
--- made from, which doesn't depend on addresses. It is of a chunk of its own, so no
--- trace of another is part of it.
function testing.machine_code(loop)
  jit.flush()
  for _ = 1, 100 do loop(1000) end
  for number = 1, 100 do
    local info = jit_util.traceinfo(number)
    if info and info.linktype == "loop" then
      return #jit_util.tracemc(number), info.nins
    end
  end
end

--- The two numbers that a script prints in its last line, run with the arguments.
function testing.two_numbers(code, arguments)
  local said, status = testing.script(code, {}, arguments)
  assert(status == 0, said)
  local one, two = said:match("([%d.e-]+)\t([%d.e-]+)\n$")
  return tonumber(one), tonumber(two)
end

--- The lines that print() gets while f(...) runs, a list.
function testing.printed(f, ...)
  local lines, before = {}, print
  rawset(_G, "print", function (text) lines[#lines + 1] = tostring(text) end)
  local ok, err = pcall(f, ...)
  rawset(_G, "print", before)
  assert(ok, err)
  return lines
end

return testing
