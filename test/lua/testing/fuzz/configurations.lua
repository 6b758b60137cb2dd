-- SPDX-License-Identifier: Apache-2.0
-- Mutants of Click configurations: words swapped, dropped, doubled; values that are
-- rarely right; elements of any class put in. Each must be refused, with a place and a
-- reason, or become a router that runs for a moment, without the engine and in
-- simulated time. Elements that reach out of the process aren't among the classes.

local element = require("click.element")
local errors = require("click.errors")
local language = require("click.language")
local registry = require("click.registry")
local router = require("click.router.router")
local unistd = require("posix.unistd")

local M = {}

local MOST_SECONDS = 20 -- for one mutant: then SIGALRM ends the process
local MOST_TURNS = 30
local OUTSIDE = {
  ControlSocket = true, HTTPServer = true, KernelTun = true, KernelTap = true,
  FromDump = true, ToDump = true, ToIPSummaryDump = true, FromIPSummaryDump = true,
  Perigee = true, Socket = true, ChatterSocket = true, ProgressBar = true,
}

-- What isn't in the examples: sources of packets that are nearly right, pull paths.
M.CORPUS = {
  [[InfiniteSource(DATA \<ffffffffffff 020000000101 0800 45000030 00010000 01110000
    0a000105 0a000205 1234 0035 001c 0000>, LIMIT 40, BURST 4)
    -> c :: Classifier(12/0800, -) -> Strip(14) -> CheckIPHeader -> GetIPAddress(16)
    -> r :: StaticIPLookup(10.0.2.0/24 0, 0/0 1) -> DecIPTTL -> Queue(10)
    -> Unqueue -> Discard; c [1] -> Print -> Discard; r [1] -> IPPrint -> Discard]],
  [[elementclass A { $n, PAINT $p | input [0] -> Paint($p) -> Queue($n) -> [0] output }
    define($x 3); InfiniteSource(LIMIT 9) -> A($x, PAINT 2) -> Shaper(100)
    -> Unqueue -> t :: Tee(2) -> Counter -> Discard; t [1] -> Discard]],
  [[RatedSource(DATA "abc", RATE 100, LIMIT 20) -> ps :: PaintSwitch -> Discard;
    ps [1] -> Queue -> rr :: RoundRobinSched -> TimedSink(0.1); Idle -> [1] rr;
    Script(TYPE ACTIVE, init x 5, label l, set x $(sub $x 1), wait 0.1s,
      goto l $(gt $x 0), print $(add 1 2), stop)]],
  [[f :: FastUDPFlows(100, 20, 60, 0:0:0:0:0:1, 10.0.0.1, 0:0:0:0:0:2, 10.0.0.2, 4, 2)
    -> Unqueue -> Strip(14) -> CheckIPHeader -> i :: IPClassifier(udp port 53, tcp, -)
    -> IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0) -> Discard;
    i [1] -> IPFilter(allow src 10.0.0.0/8, deny all) -> SetIPChecksum -> Discard;
    i [2] -> IPFragmenter(100) -> IPReassembler -> ICMPError(1.2.3.4, unreachable)
    -> Discard]],
}

-- Randomness -----------------------------------------------------------------------

local function pick(list) return list[math.random(#list)] end

-- Tokens of a text; joined again they are the text.
local function tokens(text)
  local list, at = {}, 1
  while at <= #text do
    local token = text:match("^[%w_@$]+", at) or text:match("^%s+", at)
      or text:match("^[-=]>", at) or text:match("^::", at) or text:sub(at, at)
    list[#list + 1] = token
    at = at + #token
  end
  return list
end

local VALUES = {"0", "-1", "1", "65535", "65536", "4294967295", "4294967296", "1e9",
  "1.5", "0x", "true", "10.0.0.1", "10.0.0.0/33", "1:2:3:4:5:6", "\\<", "\\<0>", "''",
  "\"", "$x", "$(", "-", "999999999999999999999", "%s", "%", ""}
local PIECES = {"->", "=>", "::", "[0]", "[1]", "[99]", "{", "}", "(", ")", ";", ",",
  "|", "||", "...", "input", "output", "elementclass", "define", "require", "/*", "//",
  "\n",
  "@1", "/"}

local function a_class() return pick(registry.list()).name end

-- Each changes the list of tokens at a place of its choice.
local CHANGES = {
  function (list, i) table.remove(list, i) end,
  function (list, i) table.insert(list, i, list[i]) end,
  function (list, i)
    local k = math.random(#list)
    list[i], list[k] = list[k], list[i]
  end,
  function (list, i) table.insert(list, i, " " .. pick(PIECES) .. " ") end,
  function (list, i) list[i] = pick(VALUES) end,
  function (list, i) list[i] = a_class() end,
  function (list, i) -- an element into a connection
    for k = i, #list do
      if list[k] == "->" then
        list[k] = ("-> %s(%s) ->"):format(a_class(), pick(VALUES))
        return
      end
    end
  end,
  function (list, i) -- another argument
    for k = i, #list do
      if list[k] == "(" then
        list[k] = "(" .. pick(VALUES) .. ", "
        return
      end
    end
  end,
  function (list, i) -- a keyword of some class, with a value
    local class = pick(registry.list())
    if #class.arguments == 0 then return end
    for k = i, #list do
      if list[k] == ")" then
        list[k] = (", %s %s)"):format(pick(class.arguments)[1], pick(VALUES))
        return
      end
    end
  end,
  function (list, i) list[i] = string.char(math.random(0, 255)) end,
}

--- Mutant number `n` of the seed, of one of the `corpus` (a list of texts).
function M.make(corpus, seed, n)
  math.randomseed(seed * 65536 + n)
  local list = tokens(pick(corpus))
  for _ = 1, math.random(0, 4) do
    if #list > 0 then pick(CHANGES)(list, math.random(#list)) end
  end
  return table.concat(list)
end

-- Trying one -----------------------------------------------------------------------

local function find_class(name)
  if not OUTSIDE[name] then return registry.find(name) end
end

local function run(r)
  r.say, r.print = function () end, function () end
  r:activate()
  local ends = r:steady() + 5
  for _ = 1, MOST_TURNS do
    if r:has_ended() or r:steady() > ends then break end
    r:turn()
  end
  for _, e in ipairs(r.elements) do
    for name, handler in pairs(element.handlers(e.class)) do
      if handler.read and not handler.param then
        r:handler_read(e.name .. "." .. name)
      end
    end
  end
end

-- Is it a refusal with a place? (An element's is below a line with one.)
local function is_reasoned(text)
  return text:match("%S:%d+: ") ~= nil or text:match("^[^\n]+: bad port count") ~= nil
    or text:match("agnostic '") ~= nil or text:match("connected to '") ~= nil
end

--- Try the configuration: "runs" or "refused"; or nil and what is wrong.
function M.try(text)
  unistd.alarm(MOST_SECONDS)
  local report, r = errors.new(), nil
  local ok, problem = xpcall(function ()
    local flat = language.read{text = text, file = "fuzz", errors = report,
      class_of = find_class, class_names = registry.names, packages = {}}
    r = flat and router.new(flat, {errors = report, find_class = find_class,
      simtime = 1e9, direct = true})
    if r then run(r) end
  end, debug.traceback)
  if r then
    local closed, why = pcall(r.close, r)
    if ok and not closed then ok, problem = false, why end
  end
  unistd.alarm(0)
  if not ok then return nil, problem end
  if r then return "runs" end
  if not is_reasoned(report:text()) then
    return nil, "refused without a place: " .. report:text()
  end
  return "refused"
end

--- Try `count` mutants from number `first` on: {runs =, refused =}, and a list of
--- {number =, text =, problem =}.
function M.run(options)
  local corpus, counts, bad = options.corpus or M.CORPUS, {runs = 0, refused = 0}, {}
  for n = options.first, options.first + options.count - 1 do
    local text = M.make(corpus, options.seed, n)
    if options.before then options.before(n, text) end
    local result, problem = M.try(text)
    if result then counts[result] = counts[result] + 1
    else bad[#bad + 1] = {number = n, text = text, problem = problem} end
  end
  return counts, bad
end

return M
