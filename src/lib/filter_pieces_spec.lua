-- SPDX-License-Identifier: Apache-2.0

local ffi = require("ffi")
local C = require("core.native")
local filter = require("lib.filter")
local pieces = require("lib.filter_pieces")

local SEED = os.time()
local random = math.random

local function one_of(list) return list[random(#list)] end

-- A packet of a few addresses, ports and protocols.
local function packet()
  local bytes = "\2\0\0\0\0\1\2\0\0\0\0\2" .. one_of{"\8\0", "\8\0", "\8\6", "\x86\xdd"}
    .. "\x45\0\0\x1c\0\0\0\0\x40" .. one_of{"\17", "\6", "\1"} .. "\0\0\10\0\0"
    .. string.char(random(4)) .. "\10\0\0" .. string.char(random(4))
    .. "\0" .. string.char(random(9)) .. "\0" .. string.char(random(9)) .. "\0\8\0\0"
  return bytes .. ("\0"):rep(60)
end

local function address() return "10.0.0." .. random(4) end
local TERMS = {
  function ()
    return one_of{"", "src ", "dst ", "ip ", "ip src "} .. "host " .. address()
  end,
  function () return one_of{"port ", "udp src port ", "tcp port "} .. random(9) end,
  function () return one_of{"ip", "udp", "arp", "ip proto 6", "less 40", "ip6"} end,
  function ()
    return ("ip[%d] %s %d"):format(random(0, 20), one_of{"=", ">"}, random(9))
  end,
  function () return ("(%d = ip[8:2] & 7)"):format(random(9)) end,
  function () return ("(host %s and port %d)"):format(address(), random(9)) end,
  function () return ("tcp port (%d or %d)"):format(random(9), random(9)) end,
}

-- Terms of one word, which have the qualifiers of those before them.
local function bare_list(separator)
  local list = {one_of{"src host ", "dst host ", "host "} .. address()}
  for i = 2, random(2, 30) do list[i] = address() end
  return table.concat(list, separator)
end

local function chain(terms, depth)
  local words = {}
  for i = 1, terms do
    local term = one_of(TERMS)()
    if depth > 0 and random(12) == 1 then
      term = "(" .. chain(random(2, 25), depth - 1) .. ")"
    elseif random(10) == 1 then
      term = bare_list(one_of{" or ", " and "})
    elseif random(20) == 1 then
      term = "host (" .. bare_list(" or "):gsub("^%a+ host ", "")
      term = term:gsub("%(host ", "(") .. ")"
    end
    if random(4) == 1 then term = one_of{"not ", "! "} .. term end
    words[#words + 1] = i > 1 and one_of{"or", "or", "or", "and", "||", "&&"} or nil
    words[#words + 1] = term
  end
  return table.concat(words, " ")
end

-- The filter of an expression as a whole, as libpcap makes it without optimizing: its
-- optimizer (1.10.3) makes wrong programs of some long expressions.
local function undivided(expression)
  local libpcap = ffi.load("libpcap.so.0.8")
  local p, made = libpcap.perigee_pcap_open_dead(1, 65535), ffi.new("struct bpf_code")
  assert.equal(0, libpcap.perigee_pcap_compile(p, made, expression, 0, 0xffffffff))
  local program = {}
  for i = 0, made.n - 1 do
    local b = made.program[i]
    program[i + 1] = {code = b.code, jt = b.jt, jf = b.jf, k = b.k}
  end
  libpcap.perigee_pcap_freecode(made)
  libpcap.perigee_pcap_close(p)
  return filter.assemble(program)
end

-- Is the expression divided?
local function has_pieces(expression)
  local n = 0
  pieces.program(expression, function ()
    n = n + 1
    return {{code = 6, jt = 0, jf = 0, k = 1}}
  end, 1)
  return n > 1
end

local function repeated(term, n, separator)
  local list = {}
  for i = 1, n do
    list[i] = term:find("host") and term:format(i / 250, i % 250) or term:format(i)
  end
  return table.concat(list, separator)
end

describe("lib.filter_pieces", function ()
  it("means the same as the whole #slow", function ()
    math.randomseed(SEED)
    local divided, accepted = 0, 0
    for number = 1, 60 do
      local expression = chain(random(20, 50), 1)
      local cut, whole = filter.new(expression), undivided(expression)
      if has_pieces(expression) then divided = divided + 1 end
      for _ = 1, 60 do
        local bytes = packet()
        local verdict = C.pg_filter(whole, bytes, #bytes)
        accepted = accepted + verdict
        if verdict ~= C.pg_filter(cut, bytes, #bytes) then
          error(("expression %d of seed %d: %s"):format(number, SEED, expression))
        end
      end
    end
    assert.is_true(divided > 20)
    assert.is_true(accepted > 300 and accepted < 3300)
  end)

  -- Of an expression as a whole libpcap would make these in many minutes.
  it("compiles thousands of terms #slow", function ()
    local hosts = repeated("host 10.1.%d.%d", 3000, " or ")
    local bytes = "\2\0\0\0\0\1\2\0\0\0\0\2\8\0"
      .. "\x45\0\0\x1c\0\0\0\0\x40\17\0\0\10\1\11\9"
      .. "\10\1\200\1\0\7\0\9\0\8\0\0"
    for expression, expected in pairs{
      [hosts] = 1, ["not (" .. hosts .. ")"] = 0, ["tcp or (" .. hosts .. ")"] = 1,
      ["tcp and (" .. hosts .. ")"] = 0, ["udp && (" .. hosts .. ") and ip"] = 1,
      [hosts:gsub("or", "and"):gsub("host", "not host")] = 0,
      ["src host " .. hosts:gsub("host ", "")] = 1,
      ["dst host (" .. hosts:gsub("host ", "") .. ")"] = 0,
      [repeated("port %d", 3000, " or ")] = 1,
      ["ip" .. (" "):rep(2^20 - 10)] = 1,
    } do
      assert.equal(expected, C.pg_filter(filter.new(expression), bytes, #bytes))
    end
  end)

  it("refuses what can't be cut, at a limit", function ()
    for expression, sentence in pairs{
      ["len > 0" .. ("+1"):rep(100000)] = "up to 500 words and signs in a part that "
        .. "can't be divided at `and` and `or`, not 200003",
      ["vlan and (" .. repeated("port %d", 900, " or ") .. ")"] = "up to 500 words",
      ["host " .. ("a"):rep(1e6)] = "words have up to 255 letters, not 1000000",
      [("("):rep(30000) .. "ip" .. (")"):rep(30000)] = "up to 500 words",
      [repeated("host 10.1.%d.%d", 20000, " or ")] = "it takes %d+ instructions, of up "
        .. "to 65536",
      ["ip" .. (" "):rep(2^20)] = "has up to 1048576 bytes, not 1048578",
      [repeated("host 10.1.%d.%d", 200, " or ") .. " or"] = "syntax error",
      [repeated("host 10.1.%d.%d", 200, " or ") .. " or )"] = "syntax error",
      ["or " .. repeated("host 10.1.%d.%d", 200, " or ")] = "syntax error",
      [repeated("host 10.1.%d.%d", 200, " or or ")] = "syntax error",
    } do
      local ok, problem = pcall(filter.program, expression)
      assert.is_false(ok)
      assert.matches(sentence, tostring(problem))
      assert.is_true(#tostring(problem) < 400)
    end
  end)
end)
