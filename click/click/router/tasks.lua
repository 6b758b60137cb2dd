-- SPDX-License-Identifier: Apache-2.0
-- Tasks: functions that are called again and again while they are scheduled, in turns.
-- Who has more tickets gets more turns (stride scheduling: a task's `pass` goes on by
-- its stride whenever it has run, and the task with the least pass is next).

local Task, Tasks = {}, {}
Task.__index, Tasks.__index = Task, Tasks

local tasks = {}

local STRIDE = 65536 -- of a task with one ticket
local TICKETS = 1024
local MOST_TICKETS = 32768

--- An empty list of tasks.
function tasks.new()
  local list = setmetatable({pass = 0}, Tasks)
  list.next, list.previous = list, list
  return list
end

--- A task that calls f(owner), which returns true if it did some work. It isn't
--- scheduled yet.
function Tasks:make(owner, f)
  return setmetatable({list = self, owner = owner, call = f, own_call = f,
    tickets = TICKETS, stride = STRIDE / TICKETS, pass = 0}, Task)
end

local function nothing() return false end

--- Let its turns pass unused while `yes`.
function Task:hold(yes) self.call = yes and nothing or self.own_call end

-- Put it behind those that are not later than it.
local function insert(list, task)
  local at = list.previous
  while at ~= list and at.pass > task.pass do at = at.previous end
  task.previous, task.next = at, at.next
  at.next.previous, at.next = task, task
end

local function remove(task)
  task.previous.next, task.next.previous = task.next, task.previous
  task.next, task.previous = nil, nil
end

--- Call it, from its next turn on, until it is unscheduled.
function Task:schedule()
  self.wanted = true
  if self.next then return end
  local list = self.list
  if list.next ~= list then list.pass = list.next.pass end
  self.pass = list.pass + self.stride
  insert(list, self)
end

--- Don't call it any more.
function Task:unschedule() self.wanted = false end

--- Is it going to be called?
function Task:scheduled() return self.wanted == true end

--- Give it that many tickets (of 1024, which is usual; at most 32768).
function Task:set_tickets(n)
  self.tickets = math.max(1, math.min(n, MOST_TICKETS))
  self.stride = STRIDE / self.tickets
end

--- Unschedule all tasks of the list.
function Tasks:clear()
  while self.next ~= self do
    self.next.wanted = false
    remove(self.next)
  end
end

--- Is any task scheduled?
function Tasks:active()
  local task = self.next
  while task ~= self do
    if task.wanted then return true end
    task = task.next
  end
  return false
end

--- Call tasks, one after the other, `most` times at most, until stopped() is true or
--- none finds anything to do. True if some work was done.
function Tasks:run(most, stopped)
  local worked, idle = false, nil
  for _ = 1, most do
    local task = self.next
    if task == self or stopped() then break end
    if not task.wanted then
      remove(task)
    else
      self.pass = task.pass
      local did = task.call(task.owner)
      worked = worked or did
      if task.next then remove(task) end -- else the list was cleared
      if task.wanted then
        task.pass = task.pass + task.stride
        -- One that had nothing to do isn't next.
        if not did and self.next ~= self then
          task.pass = math.max(task.pass, self.next.pass)
        end
        insert(self, task)
      end
      -- A whole round for nothing: let time pass.
      if did then idle = nil
      elseif idle == task then break
      else idle = idle or task end
    end
  end
  return worked
end

return tasks
