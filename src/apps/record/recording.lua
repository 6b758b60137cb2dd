-- SPDX-License-Identifier: Apache-2.0
-- A file of a Recorder's: the packets of a window of time, written some at a time. It
-- is called FILE.part until it is complete. What can't be written any more (a full
-- disk) is counted.

local ffi = require("ffi")
local C = require("core.declare")("apps/record/record.h")
local blocks = require("lib.pcap.blocks")
local failure = require("core.failure")
local log = require("core.lib.log")
local output = require("lib.pcap.output")

local SLICE_BYTES = 256 * 1024 -- that a breath waits for
local LOOKED_AT = 4096         -- packets in vain, at once
local TOTAL = 1                -- of a block's words: its length
local word_ptr = ffi.typeof("const uint32_t *")

local Recording = {}
Recording.__index = Recording

local function put(self, text)
  ffi.copy(self.out:reserve(#text), text, #text)
  self.out:commit(#text)
end

-- Raises a failure if the file can't be made.
local function create(self)
  self.out = output.open(self.part)
  put(self, blocks.section())
  for _, title in ipairs(self.recorder.titles) do
    put(self, blocks.interface(title, self.recorder.ring.snaplen))
  end
  self.out:flush()
  self.leading = self.out.written
end

local function give_up(self, problem)
  self.failure = tostring(problem)
  log.warning("%s: its other packets are only counted", self.failure)
end

local function try(self, f, ...)
  local ok, problem = pcall(f, self, ...)
  if not ok then give_up(self, problem) end
end

--- A file at `path` with the packets of `job` (struct record_job) of the Recorder.
--- `by`: what has triggered it, a word.
local function new(recorder, job, path, by)
  local self = setmetatable({
    recorder = recorder, job = job, path = path, part = path .. ".part", by = by,
    leading = 0,
  }, Recording)
  try(self, create)
  return self
end

local function copy_some(self, next_block)
  local ring, job, out = self.recorder.ring, self.job, self.out
  local left = SLICE_BYTES
  while left > 0 do
    local block = next_block(ring, job, LOOKED_AT)
    if block == nil then break end
    local total = ffi.cast(word_ptr, block)[TOTAL]
    ffi.copy(out:reserve(total), block, total)
    out:commit(total)
    left = left - total
  end
  out:flush()
end

local function count_some(self)
  for _ = 1, LOOKED_AT do
    if C.pg_record_next(self.recorder.ring, self.job, LOOKED_AT) == nil then break end
  end
end

-- What is lost of each port: overwritten here, or missed by the port so far.
local function write_statistics(self)
  for i, name in ipairs(self.recorder.names) do
    local taken, overwritten = self.job.taken[i - 1], self.job.overwritten[i - 1]
    local missed = self.recorder.missed(name)
    local comment = ("%.0f overwritten before they were written; %.0f missed by the "
      .. "port since the recorder began"):format(tonumber(overwritten), missed)
    put(self, blocks.statistics(i - 1, self.job.last, taken + overwritten + missed,
      overwritten + missed, comment))
  end
  self.trailing = #self.recorder.names
end

local function sum(counts)
  local n = 0
  for i = 0, C.RECORD_INPUTS - 1 do n = n + tonumber(counts[i]) end
  return n
end

local function close(self)
  if not self.failure then try(self, write_statistics) end
  if self.out then
    local ok, problem = pcall(self.out.close, self.out)
    if not ok and not self.failure then give_up(self, problem) end
  end
  if self.failure then return end
  local ok, problem = os.rename(self.part, self.path)
  if not ok then
    give_up(self, ("can't rename %s: %s"):format(self.part, problem))
  end
end

local function seconds(from, to)
  return tonumber(ffi.cast("int64_t", to - from)) / 1e9
end

-- What is known of it at its end.
local function told(self)
  local job = self.job
  local taken, others = sum(job.taken), self.leading + (self.trailing or 0)
  local written = self.out and self.out.written - others or 0
  written = math.max(0, math.min(taken, written))
  return {
    file = self.failure and self.part or self.path, by = self.by,
    failure = self.failure, packets = written, not_written = taken - written,
    overwritten = sum(job.overwritten),
    seconds_before = job.first > 0 and seconds(job.first, job.trigger) or 0,
    seconds_after = job.last > 0 and seconds(job.trigger, job.last) or 0,
  }
end

--- Write some of what there is; true once it is at its end, and closed: `result` then
--- says what became of it.
function Recording:work()
  if self.result then return true end
  if self.failure then count_some(self) else try(self, copy_some, C.pg_record_next) end
  if self.job.complete == 0 then return false end
  close(self)
  self.result = told(self)
  C.pg_record_end(self.recorder.ring, self.job)
  return true
end

--- Does it wait for packets that are still to come?
function Recording:waits()
  return not self.result and self.job.cursor == self.recorder.ring.head
end

--- Write all that there is, now, and close it.
function Recording:finish()
  local ring, job = self.recorder.ring, self.job
  if self.result then return end
  if job.to > ring.newest then job.to = ring.newest end
  while not self:work() do end
end

--- Raise what kept it from being written, if anything.
function Recording:check()
  if self.failure then failure.raise("%s", self.failure) end
end

return {new = new}
