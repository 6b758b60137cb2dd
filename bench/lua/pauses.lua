-- SPDX-License-Identifier: Apache-2.0
-- perigee run bench/lua/pauses.lua LIBRARY SECONDS: a null port's packets through ten
-- fused apps and back; how often the port was asked for packets much later than before.
-- Prints what bench/native/pauses.c, which LIBRARY is, prints, and on a second line how
-- many microseconds there were from one look to the next. What comes before SECONDS
-- isn't measured.

local ffi = require("ffi")
local Port = require("apps.port.port").Port

ffi.cdef[[
struct gaps {
  double cycles_per_us;
  uint64_t last, longest, over50, over100, looks;
};
void gaps_begin(struct gaps *g);
bool gaps_watch(struct gaps *g, uint16_t port);
void gaps_print(const struct gaps *g);
]]

local WARM_UP_SECONDS = 5 -- LuaJIT compiles what comes once a second or less, too
local LENGTH = 10

local Fwd = {}
Fwd.__index = Fwd
function Fwd:new() return setmetatable({}, self) end
function Fwd.process(_, p) return p end

local function main(path, seconds)
  local library, gaps = ffi.load(path), ffi.new("struct gaps")
  local c = config.new()
  config.app(c, "port", Port, "null")
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
  assert(library.gaps_watch(gaps, engine.app_table.port.port.id))
  library.gaps_begin(gaps)
  engine.main{duration = tonumber(seconds), no_report = true}
  library.gaps_print(gaps)
  print(("%.2f"):format(tonumber(seconds) * 1e6 / tonumber(gaps.looks)))
end

main(...)
