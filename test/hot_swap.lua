-- SPDX-License-Identifier: Apache-2.0
-- perigee run test/hot_swap.lua [ROUTES [SWAPS]]: exchanges the configuration of a
-- router with so many routes (2000) so many times (4) while packets pass it, half of
-- them with other routes, and prints how many packets were sent and arrived, and for
-- how long none came in at most, in CPU time, around each exchange (the median of the
-- exchanges, and the longest): while the new router was built, while the two were
-- exchanged (to the first turn of the new one), in the tenth of a second after, and in
-- the third of a second without one before.

local C = require("core.native")
local kernels = require("core.declare")("net/checksum/checksum.h")
local errors = require("click.errors")
local language = require("click.language")
local link = require("core.link")
local packet = require("core.packet")
local reconfigure = require("program.click.reconfigure")
local registry = require("click.registry")
local router = require("click.router.router")
local ffi = require("ffi")
local time = require("posix.time")

local routes, swaps = tonumber((...)) or 2000, tonumber((select(2, ...))) or 4
local BETWEEN_S, AFTER_S, BURST, OUTPUTS = 0.3, 0.1, 32, 4

local function cpu_time()
  local t = time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)
  return t.tv_sec + t.tv_nsec / 1e9
end

-- The longest time between two pulls, and in which state they were. Has the new router
-- had its first turn?
local state, last, exchanged = "running", nil, false
local longest = {running = {0}, building = {}, exchanging = {}, after = {}}

-- From now on in that state. An exchange is counted from when its router is built.
local function enter(new)
  state = new
  table.insert(longest[new], 0)
end

local function note_pull()
  local now, waits = cpu_time(), longest[state]
  if last then waits[#waits] = math.max(waits[#waits], now - last) end
  last = now
  if state == "exchanging" and exchanged then enter("after") end
end

-- Where packets come from and go to ------------------------------------------------

local sent, received = 0, 0

local FRAME = "\2\0\0\0\0\1\2\0\0\0\0\2\8\0" -- Ethernet
  .. "\69\0\0\46\0\0\0\0\64\17" -- an IP header, of which the sum and addresses follow
local Source = {outputs = {"output"}}
Source.__index = Source
function Source:new() return setmetatable({}, self) end

-- Addresses 1.0.0.1 and on, one in each route.
local function frame(i)
  local n = 2 ^ 24 + i * 256 + 1
  local bytes = FRAME .. "\0\0\10\0\0\1" .. string.char(math.floor(n / 2 ^ 24),
    math.floor(n / 2 ^ 16) % 256, math.floor(n / 256) % 256, n % 256) .. ("\0"):rep(26)
  local p = packet.from_string(bytes)
  local sum = kernels.pg_checksum_word(p.data + 14, 20)
  ffi.cast("uint16_t *", p.data + 24)[0] = sum
  local text = ffi.string(p.data, p.length)
  packet.free(p)
  return text
end

local frames = {}
for i = 0, 255 do frames[i] = frame(math.floor(i * routes / 256)) end

function Source:pull() -- luacheck: no self
  note_pull()
  for _ = 1, BURST do
    link.transmit(self.output.output, packet.from_string(frames[sent % 256]))
    sent = sent + 1
  end
end

local Sink = {inputs = {"input"}}
Sink.__index = Sink
function Sink:new() return setmetatable({}, self) end
function Sink.process(_, p)
  received = received + 1
  packet.free(p)
  return false
end

package.preload["apps.hot_swap.ends"] = function ()
  return {Source = Source, Sink = Sink}
end

-- The configurations ---------------------------------------------------------------

local function configuration(number)
  local list = {}
  for i = 0, routes - 1 do
    local n = 2 ^ 24 + i * 256
    list[#list + 1] = ("%d.%d.%d.0/24 %d"):format(math.floor(n / 2 ^ 24),
      math.floor(n / 65536) % 256, math.floor(n / 256) % 256,
      (i + math.floor(number / 2)) % OUTPUTS)
  end
  local lines = {}
  for i = 0, OUTPUTS - 1 do
    lines[#lines + 1] = ("lookup[%d] -> DecIPTTL -> EtherEncap(0x0800, 2:0:0:0:0:%d, "
      .. "2:0:0:0:1:%d) -> sink;\n"):format(i, i, i)
  end
  return ([[
    sink :: Perigee(apps.hot_swap.ends.Sink);
    lookup :: RadixIPLookup(%s);
    Perigee(apps.hot_swap.ends.Source) -> c :: Counter -> Classifier(12/0800)
      -> Strip(14) -> CheckIPHeader -> GetIPAddress(16) -> x%d :: Null -> lookup;
    %s]]):format(table.concat(list, ",\n"), number, table.concat(lines))
end

local function make(text, reporter, old)
  local flat = language.read{text = text, file = "swap", errors = reporter,
    class_of = registry.find, class_names = registry.names}
  return flat and router.new(flat, {errors = reporter, old = old})
end

-- The exchange ---------------------------------------------------------------------

local texts = {}
for number = 0, swaps do texts[number] = configuration(number) end
collectgarbage() -- of what these were made of
local number, due, took = 0, nil, 0

-- Let the router exchange itself when it is time; the next one does so, too.
local function watch(r)
  local settled
  r:poll("swap", function ()
    local now = C.pg_now()
    if not settled then
      settled, exchanged = now + AFTER_S, true
    end
    if state == "after" and now >= settled then enter("running") end
    due = due or now + BETWEEN_S
    if now < due then return end
    due = nil
    if number == swaps then return r:stop() end
    number, exchanged = number + 1, false
    enter("building")
    local began = cpu_time()
    local problem = r.global_handlers.hotconfig.write(r, texts[number])
    if problem then error(problem, 0) end
    took = math.max(took, cpu_time() - began)
    enter("exchanging")
  end)
  return r
end

local reporter = errors.to_stderr()
local first = watch(assert(make(texts[0], reporter)))
local final = reconfigure.run(first, function (text, errh, old)
  local new = make(text, errh, old)
  return new and watch(new)
end)
local function median_and_most(list)
  table.sort(list)
  local i = math.ceil(#list / 2)
  local median, most = list[i] or 0, list[#list] or 0
  return ("%.3f ms, %.3f ms at most"):format(median * 1e3, most * 1e3)
end

print(("%d routes, %d exchanges"):format(routes, number))
print(("sent %d, arrived %d, counted %s"):format(sent, received,
  (final:handler_read("c.count"))))
print(("built in %.3f s of CPU time at most"):format(took))
print("packets waited")
for _, part in ipairs{"building", "exchanging", "after", "running"} do
  print(("%-10s %s"):format(part, median_and_most(longest[part])))
end
final:close()
if sent ~= received then os.exit(1) end
