-- SPDX-License-Identifier: Apache-2.0
-- Memory: for each packet, goes a number of steps along a list in random order, whose
-- elements of 64 bytes take so much memory as is asked for, and passes the packet on.
-- Each step waits for the one before: a cache miss that nothing hides.

local ffi = require("ffi")
local C = require("core.native")
local arguments = require("core.lib.arguments")
local failure = require("core.failure")

local Memory = {}
Memory.__index = Memory

Memory.link_names = {input = {input = true}, output = {output = true}}

local ELEMENT_BYTES = 64
local LEAST_BYTES, MOST_BYTES = 2^10, 2^29
local MOST_ACCESSES = 1e6
local WARM_UP_ACCESSES, MEASURED_ACCESSES = 2e6, 20000
local SMALL, HUGE = "4K", "2M"

local PAGES = {
  [C.LOAD_SMALL_PAGES] = "pages of 4 KB",
  [C.LOAD_RESERVED_PAGES] = "pages of 2 MB",
  [C.LOAD_TRANSPARENT_PAGES] = "pages of 2 MB, as far as the kernel has them "
    .. "(transparent hugepages)",
}

local function read(arg)
  if type(arg) ~= "table" then
    failure.usage("apps.load.memory takes a table with bytes and accesses")
  end
  local bytes, accesses = arg.bytes, arg.accesses or 1
  local pages, seed = arg.pages or SMALL, arg.seed or 1
  arguments.whole("apps.load.memory: bytes", bytes, LEAST_BYTES, MOST_BYTES)
  arguments.whole("apps.load.memory: accesses", accesses, 0, MOST_ACCESSES)
  arguments.whole("apps.load.memory: seed", seed, 1, 2^31)
  if pages ~= SMALL and pages ~= HUGE then
    failure.usage("apps.load.memory: pages is '4K' or '2M', not '%s'", tostring(pages))
  end
  return math.floor(bytes / ELEMENT_BYTES), accesses, pages == HUGE, seed
end

--- Check the argument (see new).
function Memory.check_arg(arg) read(arg) end

--- `arg`: {bytes = of the list, 1,024 to 2^29; accesses = for each packet (1);
--- pages = "4K" or "2M" ("4K"); seed = of the order (1)}.
function Memory:new(arg)
  local elements, accesses, huge, seed = read(arg)
  local list = ffi.new("struct load_list")
  if C.pg_list_create(list, elements, huge, seed) < 0 then
    failure.raise("apps.load.memory: %s", ffi.string(C.pg_error()))
  end
  local app = setmetatable({list = list, accesses = accesses, elements = elements},
    self)
  C.pg_list_walk(list, math.min(2 * elements, WARM_UP_ACCESSES))
  app.measured = C.pg_list_cycles(list, MEASURED_ACCESSES)
  return app
end

--- Another number of accesses goes on along the same list.
function Memory:reconfig(arg)
  local _, accesses = read(arg)
  self.accesses = accesses
end

--- Another list is another app.
function Memory.reconfig_restarts(before, after)
  local elements, _, huge, seed = read(before)
  local elements_after, _, huge_after, seed_after = read(after)
  return elements ~= elements_after or huge ~= huge_after or seed ~= seed_after
end

function Memory:process(p)
  C.pg_list_walk(self.list, self.accesses)
  return p
end

--- TSC cycles of an access, as measured when the app started: the list had been walked
--- before, and nothing else used the caches.
function Memory:cycles_an_access() return self.measured end

--- What the list lies on: "pages of 4 KB", "pages of 2 MB", ...
function Memory:pages() return PAGES[self.list.pages] end

function Memory:report()
  print(("  %d accesses a packet in %d bytes on %s: %.1f TSC cycles each at the start")
    :format(self.accesses, self.elements * ELEMENT_BYTES, self:pages(), self.measured))
end

function Memory:stop()
  C.pg_list_free(self.list)
end

return {Memory = Memory}
