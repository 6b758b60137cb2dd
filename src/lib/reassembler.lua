-- SPDX-License-Identifier: Apache-2.0
-- What the Reassembler apps of IPv4 and IPv6 share: arguments, counters, and what
-- becomes of a datagram (net.fragment.reassembly).

local C = require("core.native")
local counter = require("core.counter")
local failure = require("core.failure")
local lib = require("core.lib")
local packet = require("core.packet")
local loops = require("net.ip.loops")
local rate_alarm = require("lib.rate_alarm")
local reassembly = require("net.fragment.reassembly")

local reassembler = {}

local FRAGMENTS_A_SECOND = 10000
local MOST_DATAGRAMS, MOST_FRAGMENTS = 1000000, 1024
local TICKS = 500 -- calls of tick() in which all datagrams can expire
local ARGUMENTS = {
  max_concurrent_reassemblies = {default = 20000},
  max_fragments_per_reassembly = {default = 40},
  reassembly_timeout = {default = 60}, -- seconds
}

local Reassembler = {restless = false}

--- Of an app that gets another argument: fragments wait on for the others of their
--- datagram, if the limits are as before; else they are given up.
function reassembler.kept(fresh, running)
  local datagrams = running.datagrams
  for name in pairs(ARGUMENTS) do
    if name ~= "reassembly_timeout" and fresh[name] ~= running[name] then
      counter.add(running.shm[running.invalid_name], datagrams:count())
      return {"alarm"}
    end
  end
  datagrams.timeout = fresh.reassembly_timeout
  return {"alarm", "datagrams"}
end

--- A class of the counters' names with `version`: "ipv4" or "ipv6".
function reassembler.class(version)
  local class = {version = version, needs_packets = true, shm = {}}
  for _, name in ipairs{
    "in-%s-frag-needs-reassembly", "in-%s-frag-reassembled",
    "in-%s-frag-reassembly-unneeded", "drop-%s-frag-invalid-reassembly",
    "drop-%s-frag-random-evicted", "memuse-%s-frag-reassembly-buffer",
    "drop-%s-frag-invalid-length",
  } do class.shm[name:format(version)] = {counter} end
  class.__index, class.reconfig_keeps = class, reassembler.kept
  return setmetatable(class, {__index = Reassembler})
end

local function check(name, value, least, most)
  if type(value) == "number" and value >= least and value <= most then return end
  failure.usage("the Reassembler's %s must be a number from %d to %d, not '%s'", name,
    least, most, tostring(value))
end

-- The bytes of the table that Snabb would have: 1 / 0.9 entries for each datagram, and
-- twice that, each a hash, the key, the ranges and 10 bytes more, and `value` bytes,
-- rounded up to a power of two.
local function snabb_bytes(o, key, value)
  local entry, power = 4 + key + 4 * o.max_fragments_per_reassembly + 10 + value, 1
  while power < entry do power = power * 2 end
  return power * 2 * math.ceil(o.max_concurrent_reassemblies / 0.9)
end

--- An app of the class for an argument; keys are of the C type `key`. `snabb_key` and
--- `snabb_value` are sizes in Snabb's table, of which the counter memuse-... tells.
function reassembler.new(class, arg, key, snabb_key, snabb_value)
  local o = lib.parse(arg, ARGUMENTS)
  check("max_concurrent_reassemblies", o.max_concurrent_reassemblies, 1,
    MOST_DATAGRAMS)
  check("max_fragments_per_reassembly", o.max_fragments_per_reassembly, 1,
    MOST_FRAGMENTS)
  check("reassembly_timeout", o.reassembly_timeout, 0, 2 ^ 31)
  local version = class.version
  local ip = version:gsub("ip", "IP")
  o.datagrams = reassembly.new(key, o.max_concurrent_reassemblies,
    o.max_fragments_per_reassembly, o.reassembly_timeout)
  o.memuse = snabb_bytes(o, snabb_key, snabb_value)
  o.alarm = rate_alarm.new(o, "in-" .. version .. "-frag-needs-reassembly",
    FRAGMENTS_A_SECOND, "incoming-" .. version .. "-fragments",
    ("Incoming %s fragments over N fragments/s"):format(ip),
    ("More than 10,000 %s fragments per second"):format(ip))
  o.invalid_name = "drop-" .. version .. "-frag-invalid-reassembly"
  o.evicted_name = "drop-" .. version .. "-frag-random-evicted"
  o.done_name = "in-" .. version .. "-frag-reassembled"
  o.memuse_name = "memuse-" .. version .. "-frag-reassembly-buffer"
  o.key = key()
  return setmetatable(o, class)
end

--- Add a fragment to the datagram that self.key names (net.fragment.reassembly): a
--- packet of the datagram, if that is whole now.
function Reassembler:add(payload, first, size, more, headers_at, headers)
  local datagrams, shm = self.datagrams, self.shm
  local result, evicted = datagrams:add(self.key, C.pg_now(), payload, first, size,
    more, headers_at, headers)
  if evicted then counter.add(shm[self.evicted_name]) end
  if result == reassembly.PENDING then return nil end
  if result == reassembly.INVALID then
    counter.add(shm[self.invalid_name])
    return nil
  end
  counter.add(shm[self.done_name])
  return datagrams:packet()
end

--- push() of the class of `version`: what is_fragment(app, data) is true for, is for
--- add(app, output, p, headers, total), as net.ip.loops says; `p` stays the caller's.
function reassembler.push(version, is_fragment, add)
  local needed = "in-" .. version .. "-frag-needs-reassembly"
  return loops.of_family(version, "in-" .. version .. "-frag-reassembly-unneeded",
    "drop-" .. version .. "-frag-invalid-length", is_fragment,
    function (app, output, p, headers, total)
      counter.add(app.shm[needed])
      add(app, output, p, headers, total)
      packet.free(p)
    end)
end

--- It can do without tick() for so long while no packet comes, in seconds.
Reassembler.tick_seconds = 0.2

function Reassembler:tick()
  self.alarm:check()
  local most = math.ceil(self.max_concurrent_reassemblies / TICKS)
  local expired = self.datagrams:expire(C.pg_now(), most)
  self.restless = expired == most -- there may be more
  counter.add(self.shm[self.invalid_name], expired)
  counter.set(self.shm[self.memuse_name], self.memuse)
end

return reassembler
