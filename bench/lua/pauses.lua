-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/pauses.lua LIBRARY SECONDS: a null port's packets through ten
-- fused apps and back; how often a breath began much later than the one before. Prints
-- what bench/native/pauses.c, which LIBRARY is, prints, and on a second line how many
-- microseconds there were from breath to breath. What comes before SECONDS isn't
-- measured.

local ffi = require("ffi")
local Port = require("apps.port.port").Port

ffi.cdef[[
struct gaps { double cycles_per_us; uint64_t last, longest, over50, over100; };
void gaps_begin(struct gaps *g);
void gaps_note(struct gaps *g);
void gaps_print(const struct gaps *g);
]]

local WARM_UP_SECONDS = 1
local LENGTH = 10

local Fwd = {}
Fwd.__index = Fwd
function Fwd:new() return setmetatable({}, self) end
function Fwd.process(_, p) return p end

local function main(path, seconds)
  local library, gaps = ffi.load(path), ffi.new("struct gaps")
  local Watch = {}
  Watch.__index = Watch
  function Watch:new() return setmetatable({}, self) end
  local breaths = 0
  function Watch.pull()
    breaths = breaths + 1
    library.gaps_note(gaps)
  end
  local c = config.new()
  config.app(c, "port", Port, "null")
  config.app(c, "watch", Watch)
  local from = "port"
  for i = 1, LENGTH do
    config.app(c, "app" .. i, Fwd)
    config.link(c, ("%s.output -> app%d.input"):format(from, i))
    from = "app" .. i
  end
  config.link(c, from .. ".output -> port.input")
  engine.busywait = true
  engine.configure(c)
  engine.main{duration = WARM_UP_SECONDS, no_report = true}
  library.gaps_begin(gaps)
  breaths = 0
  engine.main{duration = tonumber(seconds), no_report = true}
  library.gaps_print(gaps)
  print(("%.2f"):format(tonumber(seconds) * 1e6 / breaths))
end

main(...)
