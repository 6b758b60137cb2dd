-- SPDX-License-Identifier: Apache-2.0
-- The gaps between packets of a rate: all the same, or of a Poisson process.

local ethernet = require("net.wire.ethernet")
local ffi = require("ffi")
local random = require("lib.traffic.random")

local M = {}

ffi.cdef[[
struct perigee_arrivals {
  double gap;      /* seconds between packets, or for each bit on the wire */
  bool bits, poisson;
  struct perigee_random random;
};
]]

--- Of `rate` (as from lib.traffic.rate; nil: no gaps), `arrivals` "constant" or
--- "poisson" (gaps with an exponential distribution, the same mean, and the seed
--- `seed`).
function M.new(rate, arrivals, seed)
  local a = ffi.new("struct perigee_arrivals")
  if rate then a.gap = 1 / (rate.packets or rate.bits) end
  a.bits = rate ~= nil and rate.bits ~= nil
  a.poisson = arrivals == "poisson"
  random.seed(a.random, seed or 1)
  return a
end

--- Seconds from a packet of `size` bytes to the next one.
function M.gap(a, size)
  local gap = a.gap
  if a.bits then gap = gap * ethernet.bits(size) end
  if a.poisson then gap = gap * random.exponential(a.random) end
  return gap
end

return M
