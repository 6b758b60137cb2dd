-- SPDX-License-Identifier: Apache-2.0
-- `perigee snabbmark`: Snabb's benchmarks, with figures printed as Snabb prints them.

local cli = require("lib.cli")
local failure = require("core.failure")

local M = {summary = "run Snabb's benchmarks: basic1, hash, ctable, checksum, esp, ..."}

--- Why --cpus is refused.
M.one_cpu = "it measures what one CPU does"

local HELP = [[
Run one of Snabb's benchmarks. Results are printed as `snabb snabbmark` does.
Times are CPU time.

  basic1 PACKETS             Source -> Tee -> Sink, over two links
  basic1_events PACKETS      the same with 10 apps that wait in pull()
  basic1_tick PACKETS        the same with 10 apps that wait in tick()
  basic1_push_link PACKETS   the same, push methods made in link()
  hash [KEY-SIZE]            hash functions (key of 4 bytes)
  ctable                     insertion and lookup in lib.ctable
  checksum                   IP checksums, in plain C and by lib.checksum
  esp PACKETS SIZE [MODE] [DIRECTION] [AEAD]
                             ESP: transport or tunnel; encapsulate, decapsulate
  intel1g PACKETS SIZE [TIMEOUT]
  solarflare PACKETS SIZE [TIMEOUT]
                             from the port SNABB_PCI0 to the port SNABB_PCI1]]

local NOT_HERE = {
  nfvconfig = "it measured configurations of snabbnfv, which Snabb has removed",
}

-- By name: the module, its function, and the most and least arguments.
local benchmarks = {
  basic1 = {"basic1", "plain", 1, 1}, basic1_events = {"basic1", "events", 1, 1},
  basic1_tick = {"basic1", "ticks", 1, 1},
  basic1_push_link = {"basic1", "push_link", 1, 1},
  hash = {"hash", "run", 0, 1}, ctable = {"ctable", "run", 0, 0},
  checksum = {"checksum", "run", 0, 0}, esp = {"esp", "run", 2, 5},
  intel1g = {"nics", "run", 2, 3}, solarflare = {"nics", "run", 2, 3},
}

local function arguments_text(least, most)
  if least < most then return ("%d to %d arguments"):format(least, most) end
  return least == 0 and "no argument" or least == 1 and "1 argument"
    or least .. " arguments"
end

--- Run the program: `args` as in its usage.
function M.run(args)
  local parser = cli.parser("snabbmark", HELP)
  parser:usage("Usage: perigee snabbmark [--scale FACTOR] BENCHMARK [ARGUMENTS]...")
  parser:argument("benchmark", "the name of a benchmark")
  parser:argument("arguments", "its arguments"):args("*")
  parser:option("--scale", "Multiply the iterations of hash, ctable, checksum by this.")
    :argname("FACTOR"):convert(cli.number(1e-6, 100)):default("1")
  local options = cli.parse(parser, args)
  local name, arguments = options.benchmark, options.arguments
  if NOT_HERE[name] then
    failure.usage("snabbmark has no %s: %s", name, NOT_HERE[name])
  end
  local benchmark = benchmarks[name]
  if not benchmark then
    failure.usage("there is no benchmark '%s'; see `perigee snabbmark --help`", name)
  elseif #arguments < benchmark[3] or #arguments > benchmark[4] then
    failure.usage("%s takes %s, not %d; see `perigee snabbmark --help`", name,
      arguments_text(benchmark[3], benchmark[4]), #arguments)
  end
  local module = require("program.snabbmark." .. benchmark[1])
  module.scale = options.scale
  module[benchmark[2]](unpack(arguments))
end

return M
