-- SPDX-License-Identifier: Apache-2.0
-- The option --metrics: a process of its own serves this one's metrics, and whether it
-- is well, by HTTP (lib.control.metrics_helper). This one only keeps in shared memory
-- what that needs to know, so that packets never wait for who asks.

local ffi = require("ffi")
local C = require("core.native")
local counter = require("core.counter")
local errno = require("posix.errno")
local engine = require("core.app")
local listen = require("lib.control.listen")
local log = require("core.lib.log")
local outside = require("core.outside.visitors")
local shm = require("core.shm")
local state = require("lib.service.state")
local tree = require("core.shm.tree")
local unistd = require("posix.unistd")

local server = {}

local LOOK_SECONDS = 0.5 -- between two looks at what seldom changes

-- A helper that ends is replaced; one that does so at once isn't.
local LEAST_SECONDS = 10

local function launch(fd, text)
  local words = {"perigee", "metrics", "--serve-for", (shm.path("x"):match("^(.*)/")),
    "--parent", tostring(unistd.getpid()), "--at", text}
  local argv = ffi.new("const char *[?]", #words + 1)
  for i, word in ipairs(words) do argv[i - 1] = word end
  local pid = C.pg_helper_start(argv, fd)
  if pid < 0 then
    log.warning("--metrics %s: no process can be started: %s", text,
      (errno.errno(-pid)))
  end
  return pid > 0 and pid or nil
end

-- What the helper reads in shared memory ----------------------------------------------

local function write(name, line) tree.tell(shm.path("service/" .. name), line) end

local function new_counters()
  local first = {breathed_ns = C.pg_monotonic_ns(), pool_packets = C.pg_pool_size(),
    pool_available = C.pg_pool_available()}
  local found = {}
  for name, value in pairs(first) do
    found[name] = counter.create(("service/%s.counter"):format(name), value)
  end
  return found
end

local function tell(lines, name, line)
  if line and lines[name] ~= line then write(name, line) end
  lines[name] = line
end

-- What is done here between breaths.
local function new_visitor(fd, path, text)
  local pid, started = launch(fd, text), C.pg_monotonic()
  local counters, lines, next_look = nil, {}, 0
  local visitor = {}

  local function look_after_helper(now)
    if not pid or not C.pg_helper_ended(pid) then return end
    local again = now - started >= LEAST_SECONDS and not C.pg_sandboxed()
    log.warning("--metrics %s: the process that serves it has ended%s", text,
      again and "; another is started"
        or C.pg_sandboxed() and ", and --sandbox lets none be started" or "")
    pid, started = again and launch(fd, text) or nil, now
  end

  local function tell_state()
    tell(lines, "readiness", state.not_ready() or "ready")
    tell(lines, "name", engine.program_name or nil)
  end

  function visitor.begin()
    counters = counters or new_counters()
    tell_state()
  end

  function visitor.tend(now)
    if not counters then return end
    counter.set(counters.breathed_ns, C.pg_monotonic_ns())
    if now < next_look then return end
    next_look = now + LOOK_SECONDS
    counter.set(counters.pool_packets, C.pg_pool_size())
    counter.set(counters.pool_available, C.pg_pool_available())
    tell_state()
    look_after_helper(now)
  end

  function visitor.leave()
    -- (Before it is closed: then another process may listen there.)
    if path then os.remove(path) end
    if pid then C.pg_helper_stop(pid) end
    unistd.close(fd)
  end

  for _, f in pairs(visitor) do jit.off(f, true) end
  return visitor
end

--- Serve at `text` ([ADDRESS:]PORT or unix:PATH). Raises a failure if that can't be.
function server.start(text)
  require("lib.service.notify") -- the helper doesn't see $NOTIFY_SOCKET from here on
  local fd, path = listen.open("--metrics", text)
  outside.let_in(new_visitor(fd, path, text))
end

return server
