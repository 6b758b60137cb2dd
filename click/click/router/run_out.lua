-- SPDX-License-Identifier: Apache-2.0
-- The end of a router that reads files by way of devices: it stops when all of them
-- have ended and what they have brought has gone its way, through queues, too.
--
-- Elements report it by these methods. reads_file(): true while a file is still to be
-- read, false when it has ended, nil if there is none. check_file(), optional, raises a
-- failure if it is damaged where it ends. backlog(): how many packets it holds that are
-- to go on. Those of a queue that nobody pulls any more stay where they are.

local link = require("core.link")
local pull_paths = require("click.router.pull_paths")

local run_out = {}

-- Is the element going to do something by itself?
local function is_at_work(router, e)
  local timer = rawget(e, "timer")
  return e.class.task ~= nil and router:is_scheduled(e)
    or type(timer) == "table" and timer:scheduled()
end

-- Does the element pull by the port?
local function is_open(far)
  return not far.element.pulls_from or far.element:pulls_from(far.port)
end

local function is_stuck(router, e)
  local function works(other) return is_at_work(router, other) end
  return not works(e) and not pull_paths.reach(e, true, works, is_open)
end

-- Packets in the links of an element: those that come and those that leave.
local function in_links(list)
  local n = 0
  for i = 1, #(list or "") do n = n + link.nreadable(list[i]) + list[i].nhanded end
  return n
end

--- Are packets on their way?
function run_out.is_waiting(router)
  for _, e in ipairs(router.elements) do
    if in_links(rawget(e, "input")) + in_links(rawget(e, "output")) > 0 then
      return true
    end
    if e.backlog and e:backlog() > 0 and not is_stuck(router, e) then return true end
  end
  return false
end

-- The elements that may read files.
local function readers_of(router)
  if not router.file_readers then
    router.file_readers = {}
    for _, e in ipairs(router.elements) do
      if e.reads_file then table.insert(router.file_readers, e) end
    end
  end
  return router.file_readers
end

--- How far the router is: nil if it reads no files; "reading" while one has more;
--- "passing on" while packets are on their way; "over".
function run_out.state(router)
  local reads = false
  for _, e in ipairs(readers_of(router)) do
    local state = e:reads_file()
    if state then return "reading" end
    reads = reads or state == false
  end
  if not reads then return nil end
  return run_out.is_waiting(router) and "passing on" or "over"
end

--- Raise a failure if a file that the router has read is damaged where it ends.
function run_out.check(router)
  for _, e in ipairs(readers_of(router)) do
    if e.check_file then e:check_file() end
  end
end

--- Stop the router when it is over. (Parts of one router are asked by who runs them.)
function run_out.watch(router)
  if router.options.is_part then return end
  router:poll(run_out, function ()
    local state = run_out.state(router)
    if state == "reading" or state == "passing on" then return end
    router:poll(run_out, nil)
    if state ~= "over" then return end
    run_out.check(router)
    router:stop()
  end)
end

return run_out
