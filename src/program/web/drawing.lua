-- SPDX-License-Identifier: Apache-2.0
-- The picture of a graph for the page: laid out by Graphviz's program dot where it is
-- installed, else by lib.picture.layout. Runs in the coroutine of an HTTP session, and
-- yields while dot works.

local C = require("core.native")
local fcntl = require("posix.fcntl")
local graphviz = require("lib.picture.graphviz")
local poll = require("posix.poll")
local stdio = require("posix.stdio")
local svg = require("lib.picture.svg")
local unistd = require("posix.unistd")

local drawing = {}

local MOST_BYTES = 100000 -- of what dot is given: the shell takes no more (execve(2))
local SECONDS = 5         -- for which dot may work
local AT_ONCE = 65536

-- What the shell's command writes, up to its end.
local function output_of(command)
  local pipe = io.popen(command)
  if not pipe then return "" end
  local fd = stdio.fileno(pipe)
  fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.O_NONBLOCK)
  local parts, ends = {}, C.pg_monotonic() + SECONDS + 2
  while C.pg_monotonic() < ends do
    local ready = poll.rpoll(fd, 0)
    local bytes = ready == 1 and unistd.read(fd, AT_ONCE)
    if bytes == "" then break end
    if bytes then parts[#parts + 1] = bytes else coroutine.yield() end
  end
  pipe:close()
  return table.concat(parts)
end

--- The picture of `graph` (lib.observe.graph) as SVG without a style. Where dot is
--- installed packets go from left to right, or `down`.
function drawing.svg(graph, down)
  local source, picture = graphviz.source(graph, down), nil
  if #graph.apps > 0 and #source <= MOST_BYTES then
    picture = graphviz.read(graph, output_of(("exec timeout -k 1 %d dot -Tjson0 "
      .. "2>/dev/null <<'END'\n%sEND\n"):format(SECONDS, source)), down)
  end
  return svg.text(graph, true, picture)
end

return drawing
