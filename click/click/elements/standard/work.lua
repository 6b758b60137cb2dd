-- SPDX-License-Identifier: Apache-2.0
-- WorkPackage and RandLoad: work for the CPU that a packet costs, to try what a router
-- bears. C does it (native/work.c).

local ffi = require("ffi")
local C = require("core.declare")("native/work.h")
local element = require("click.element")

local MEGABYTE, WORD = 2 ^ 20, 4
local HEADERS = 54 -- bytes of a packet that are read unless PAYLOAD is set
local MOST_MEGABYTES = 4096

local package_t, words_t = ffi.typeof("struct work_package"), ffi.typeof("uint32_t[?]")

local function new_package()
  local work = package_t()
  for _ = 1, 2 do work.state = work.state * 2 ^ 31 + math.random(1, 2 ^ 31 - 1) end
  return work
end

-- WorkPackage ----------------------------------------------------------------------

local WorkPackage = element.define{
  name = "WorkPackage", summary = "draws random numbers, and reads memory or packets",
  ports = "1-/=", processing = "h/h", flow = "#/#", reads = {}, fills_cache = true,
  arguments = {
    {"S", "real", default = 0, min = 0, max = MOST_MEGABYTES, keyword = true},
    {"N", "unsigned", default = 0, keyword = true},
    {"R", "unsigned", default = 0, max = 100, keyword = true},
    {"PAYLOAD", "bool", default = false, keyword = true},
    {"W", "unsigned", default = 0, keyword = true},
    {"ANALYSIS", "bool", default = false, keyword = true},
  },
  differs = "ANALYSIS, of RSS++'s experiments, changes nothing.",
}

function WorkPackage:configure(a)
  local work = new_package()
  work.size = math.floor(a.S * MEGABYTE / WORD)
  self.array = words_t(work.size)
  work.array = self.array
  work.accesses, work.packet_share, work.draws = a.N, a.R, a.W
  work.packet_bytes = a.PAYLOAD and 2 ^ 32 - 1 or HEADERS
  C.pg_work_seed(work)
  self.work = work
end

function WorkPackage:process(p, i)
  C.pg_work_package(self.work, p.data, p.length)
  return p, i
end

-- RandLoad -------------------------------------------------------------------------

local RandLoad = element.define{
  name = "RandLoad", summary = "draws some random numbers for each packet",
  processing = "h/h", reads = {},
  arguments = {
    {"MIN", "unsigned", default = 1, keyword = true},
    {"MAX", "unsigned", default = 100, keyword = true},
  },
}

function RandLoad:configure(a)
  if a.MAX < a.MIN then
    return self:error("MAX %.0f is less than MIN %.0f", a.MAX, a.MIN)
  end
  self.work, self.least, self.most = new_package(), a.MIN, a.MAX
end

function RandLoad:process(p)
  C.pg_work_random(self.work, self.least, self.most)
  return p
end

return {WorkPackage, RandLoad}
