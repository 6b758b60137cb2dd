-- SPDX-License-Identifier: Apache-2.0
-- A worker, as the main thread sees it: a thread that gets its orders by messages
-- and answers each with one. What it says of its own accord comes in between.

local ffi = require("ffi")
local C = require("core.native")
local affinity = require("core.cpus.affinity")
local failure = require("core.failure")
local meanwhile = require("core.lib.meanwhile")
local messages = require("core.cpus.messages")
local patience = require("core.lib.patience")

local Worker = {}
Worker.__index = Worker

--- How long it may take to answer, in seconds in which it had a CPU, or needed none
--- (core.lib.patience).
Worker.PATIENCE_SECONDS = 30
local WAIT_SECONDS = 0.05 -- between looks whether it is alive
local MODULE = "core.cpus.worker_main"

--- Start a worker for apps placed on CPU number `cpu`; `setup` is what it is told
--- first (core.cpus.worker_main). Raises a failure.
function Worker.start(cpu, setup)
  local handle = C.pg_worker_start(cpu, affinity.cpu_for(cpu), MODULE,
    package.path, package.cpath)
  if handle == nil then failure.raise("%s", ffi.string(C.pg_error())) end
  local self = setmetatable({cpu = cpu, handle = handle, said = {}, number = 0,
                             awaited = {}, answers = {}}, Worker)
  self:ask(setup)
  return self
end

--- Send a message (a table of plain data); its number, by which it is answered. One
--- that is `silent` has no answer.
function Worker:tell(message)
  if not message.silent then
    self.number = self.number + 1
    message.number = self.number
    self.awaited[self.number] = true
  end
  local text = messages.encode(message)
  if not C.pg_worker_post(self.handle, C.TO_WORKER, text, #text) then
    failure.raise("no memory for a message to the worker on CPU %d", self.cpu)
  end
  return message.number
end

local function next_message(self)
  local text = messages.from_worker(self.handle)
  if not text then return nil end
  if text:sub(1, 1) == "!" then -- its Lua state couldn't begin, or is broken
    return {said = "died", sentence = text:sub(2), status = 1, for_good = true}
  end
  return messages.decode(text)
end

-- Take what the worker has sent next, if there is something. An answer that nobody
-- awaits any more comes too late, and is dropped.
local function receive(self)
  local message = next_message(self)
  if not message then return false end
  if message.said then
    table.insert(self.said, message)
  elseif self.awaited[message.number] then
    self.awaited[message.number] = nil
    self.answers[message.number] = message
  end
  return true
end

--- What the worker has said of its own accord since the last call: a list.
function Worker:heard()
  while self.handle.waiting[C.FROM_WORKER] > 0 do receive(self) end
  local said = self.said
  self.said = {}
  return said
end

--- Has the watchdog given it up, since an app doesn't return?
function Worker:is_given_up() return self.handle.given_up ~= 0 end

local function check_alive(self, limit)
  C.pg_now() -- to wait is no reason for the watchdog
  if self:is_given_up() then
    failure.raise("the worker on CPU %d is given up: one of its apps doesn't return",
      self.cpu)
  end
  for _, message in ipairs(self.said) do
    if message.for_good then failure.raise("%s", message.sentence) end
  end
  if C.pg_worker_ended(self.handle) then
    failure.raise("the worker on CPU %d has ended", self.cpu)
  end
  limit.tid = self.handle.tid -- its thread has begun
  if limit:over() then
    failure.raise("the worker on CPU %d hasn't answered for %g s: one of its apps "
      .. "doesn't return", self.cpu, Worker.PATIENCE_SECONDS)
  end
end

local function wait(self, number)
  local limit = patience.new(Worker.PATIENCE_SECONDS, self.handle.tid)
  while not self.answers[number] do
    if not receive(self) then
      check_alive(self, limit)
      meanwhile.pause()
      if not (self.answers[number] or meanwhile.serving()) then
        C.pg_worker_wait(self.handle, C.FROM_WORKER, WAIT_SECONDS)
      end
    end
  end
end

--- The answer to the message of that number. Until it comes the main thread may go on
--- (core.lib.meanwhile).
function Worker:answer(number)
  local ok, err = pcall(wait, self, number)
  local answer = self.answers[number]
  self.awaited[number], self.answers[number] = nil, nil
  if not ok then error(err, 0) end
  return answer
end

--- Send a message and wait for the answer. If that is a failure, raise it.
function Worker:ask(message)
  return self:hear_out(self:tell(message))
end

--- As answer(); if it is a failure, raise it.
function Worker:hear_out(number)
  local answer = self:answer(number)
  if answer.failure then
    if answer.status == 2 then failure.usage("%s", answer.failure) end
    failure.raise("%s", answer.failure)
  end
  return answer
end

--- Let the thread end, and wait until it has.
function Worker:stop()
  if self:is_given_up() then return end -- it never will
  if not C.pg_worker_ended(self.handle) then self:tell{what = "end", silent = true} end
  C.pg_worker_join(self.handle)
end

--- Free it, when its account has been read.
function Worker:free()
  C.pg_worker_free(self.handle)
  self.handle = nil
end

return Worker
