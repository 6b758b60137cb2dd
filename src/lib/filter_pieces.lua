-- SPDX-License-Identifier: Apache-2.0
-- Long packet filters in pieces. What libpcap needs for an expression grows with the
-- third power of its terms (400 of `port N`: 8 s), and its optimizer makes wrong
-- programs of some. So a chain of terms, `a or b or c`, is cut between two of them, and
-- each piece is compiled by itself. The grammar is that of pcap-filter(7): `and` and
-- `or` bind alike, from the left, and a term of one word has the qualifiers of that
-- before it (`tcp port 80 or 443`).

local failure = require("core.failure")

local pieces = {}

local WHOLE = 300 -- words and signs that are left to libpcap: some 0.1 s
local PIECE = 48 -- those of a piece of more
local MOST_UNDIVIDED = 500
local MOST_DEPTH = 100
local MOST_IN_WORD = 255 -- bytes; of a host's name they are 253 (RFC 1035)

local OPERATORS = {["&&"] = "and", ["||"] = "or", ["and"] = "and", ["or"] = "or"}
local QUALIFIERS = {}
for word in ([[host net port portrange src dst gateway proto protochain ether link fddi
  tr wlan ip ip6 arp rarp decnet iso lat moprc mopdl tcp udp sctp icmp icmp6 igmp igrp
  pim vrrp carp ah esp atalk aarp stp ipx netbeui]]):gmatch("%S+") do
  QUALIFIERS[word] = true
end
local ALONE = {less = true, greater = true, broadcast = true, multicast = true,
               inbound = true, outbound = true}
-- Behind these the rest of an expression means other bytes: it isn't cut.
local MOVES = {vlan = true, mpls = true, pppoed = true, pppoes = true, geneve = true,
               vxlan = true}

-- Tokens: kinds ("word", "not", "and", "or", "(", ")", "sign"), where each begins and
-- ends in the text, which one closes a parenthesis, and how many signs there are up to
-- it. Nil: no expression.
local function scan(text)
  local kinds, from, to, partner, open, signs = {}, {}, {}, {}, {}, {[0] = 0}
  local at, moves = text:find("%S"), false
  while at do
    local last = select(2, text:find("^[%w_:\\][%w_.:\\/-]*", at))
    local kind, n = "word", #kinds + 1
    if last then
      local word = text:sub(at, last)
      if #word > MOST_IN_WORD then
        failure.usage("a packet filter's words have up to %d letters, not %d",
          MOST_IN_WORD, #word)
      end
      moves = moves or MOVES[word]
      kind = word == "not" and "not" or OPERATORS[word] or kind
    else
      local two, one = text:sub(at, at + 1), text:sub(at, at)
      last = OPERATORS[two] and at + 1 or at
      kind = OPERATORS[two] or one == "!" and two ~= "!=" and "not"
        or (one == "(" or one == ")") and one or "sign"
    end
    kinds[n], from[n], to[n] = kind, at, last
    signs[n] = signs[n - 1] + (kind == "sign" and 1 or 0)
    if kind == "(" then
      open[#open + 1] = n
    elseif kind == ")" then
      local begin = table.remove(open)
      if not begin then return nil end
      partner[begin] = n
    end
    at = text:find("%S", last + 1)
  end
  if open[1] then return nil end
  return {text = text, kinds = kinds, from = from, to = to, partner = partner,
          signs = signs, moves = moves}
end

local function words(t, first, last) return t.text:sub(t.from[first], t.to[last]) end

-- The first token from `first` on that is no `not`.
local function behind_nots(t, first)
  while t.kinds[first] == "not" do first = first + 1 end
  return first
end

-- May a piece begin with the word of token `i`: "alone", as it is; "bare", if it gets
-- qualifiers in front; nil if that isn't known (names).
local function beginning(t, i)
  local behind = i
  while t.kinds[behind] == "word" or t.kinds[behind] == "sign" do
    behind = behind + 1
  end
  if t.signs[behind - 1] > t.signs[i - 1] then return "alone" end -- a comparison
  if t.kinds[i] ~= "word" then return nil end
  local word = words(t, i, i)
  if QUALIFIERS[word] or ALONE[word] then return "alone" end
  return word:find("[%d.:]") and "bare" or nil
end

-- A term from `first` to `last`: how it begins; the qualifiers that it has (nil: none
-- are known); and where its group in parentheses begins, if it ends with one.
local function term_of(t, first, last, signs)
  local head = behind_nots(t, first)
  local term = {first = first, last = last}
  if signs then -- a comparison
    term.begins = "alone"
    return term
  end
  local at = head
  while at < last and QUALIFIERS[t.kinds[at] == "word" and words(t, at, at)] do
    at = at + 1
  end
  local inner = at
  while t.kinds[inner] == "(" or t.kinds[inner] == "not" do inner = inner + 1 end
  local qualified, value = at > head, beginning(t, inner)
  term.begins = qualified and "alone" or value
  term.qualifiers = qualified and value == "bare" and words(t, head, at - 1) or nil
  if t.partner[at] == last and (not qualified or value == "bare") then
    term.group, term.negated = at, (head - first) % 2 == 1
  elseif at < last then
    term.qualifiers = nil
  end
  return term
end

-- The terms from token `first` to `last`, each with the operator before it.
local function chain_of(t, first, last)
  local list, begin, at, operator, signs = {}, first, first, nil, false
  while at <= last + 1 do
    local kind = at <= last and t.kinds[at] or "or"
    if kind == "and" or kind == "or" then
      if begin == at then
        failure.usage("syntax error: a term is missing before or behind `and` or `or`")
      end
      local term = term_of(t, begin, at - 1, signs)
      term.operator = operator
      list[#list + 1] = term
      begin, operator, signs = at + 1, kind, false
    elseif kind == "(" then
      at = t.partner[at]
    elseif kind == "sign" then
      signs = true
    end
    at = at + 1
  end
  return list
end

-- Pieces of a chain: their operator, first and last token, how many terms, the last
-- one, and the qualifiers that the first needs (`before`). Nil if it can't be cut.
local function cut(list, before)
  local found, piece, size = {}, nil, 0
  for _, term in ipairs(list) do
    local tokens = term.last - term.first + 2
    local bare = term.begins == "bare"
    local may_begin = term.begins == "alone" or bare and before ~= nil
    local fits = piece and (piece.operator == term.operator or #found == 1)
    if not piece or may_begin and (not fits or size + tokens > PIECE) then
      piece = {operator = term.operator, first = term.first, terms = 0,
               before = bare and before or nil}
      found[#found + 1], size = piece, 0
    elseif not fits then
      return nil
    end
    piece.last, piece.term, piece.terms = term.last, term, piece.terms + 1
    size = size + tokens
    if not bare then before = term.qualifiers end
  end
  return found
end

-- The tokens as text, with qualifiers in front of the first word.
local function text_of(t, first, last, before)
  if not before then return words(t, first, last) end
  local head = first
  while t.kinds[head] == "not" or t.kinds[head] == "(" do head = head + 1 end
  return t.text:sub(t.from[first], t.from[head] - 1) .. before .. " "
    .. words(t, head, last)
end

local divide

-- Where each piece goes on when it holds, and when not: at the next one that matters.
local function targets_of(found, holds, fails)
  local targets = {}
  for i = #found, 1, -1 do
    targets[i] = {holds = holds, fails = fails}
    if found[i].operator == "and" then holds = found[i] else fails = found[i] end
  end
  return targets
end

-- Add what tokens `first` to `last` need to the list `out`: {text =, holds =, fails =},
-- in which the latter are what is done next: another entry's `of`, true or false.
local function add(out, t, first, last, of, holds, fails, before, depth)
  local found = last - first >= PIECE and depth < MOST_DEPTH and not t.moves
  found = found and divide(t, first, last, before)
  if not found then
    if last - first >= MOST_UNDIVIDED then
      failure.usage("a packet filter has up to %d words and signs in a part that can't "
        .. "be divided at `and` and `or`, not %d", MOST_UNDIVIDED, last - first + 1)
    end
    out[#out + 1] = {of = of, text = text_of(t, first, last, before), holds = holds,
                     fails = fails}
    return
  end
  local targets = targets_of(found, holds, fails)
  for i, piece in ipairs(found) do
    local term, on = piece.term, targets[i]
    local own = i == 1 and of or piece
    if piece.terms == 1 and term.group then
      local yes, no = on.holds, on.fails
      if term.negated then yes, no = no, yes end
      add(out, t, term.group + 1, term.last - 1, own, yes, no,
        term.qualifiers or piece.before, depth + 1)
    else
      add(out, t, piece.first, piece.last, own, on.holds, on.fails, piece.before,
        MOST_DEPTH)
    end
  end
end

function divide(t, first, last, before)
  return cut(chain_of(t, first, last), before)
end

local JA, RET = 0x05, 0x06

--- The program (as lib.filter.program's) of the expression `text`. compile() makes
--- programs of its pieces; the whole returns `accepting` for what it accepts.
function pieces.program(text, compile, accepting)
  local t, out, code, at, jumps = scan(text), {}, {}, {}, {}
  if not t or #t.kinds < WHOLE then return compile(text) end
  add(out, t, 1, #t.kinds, out, true, false, nil, 0)
  if #out == 1 then return compile(text) end
  for _, entry in ipairs(out) do
    at[entry.of] = #code + 1
    for _, b in ipairs(compile(entry.text)) do
      code[#code + 1] = b
      if b.code == RET then
        if b.k ~= 0 then jumps[#code] = entry.holds else jumps[#code] = entry.fails end
      end
    end
  end
  at[true], at[false] = #code + 1, #code + 2
  for i, to in pairs(jumps) do
    code[i] = {code = JA, jt = 0, jf = 0, k = at[to] - i - 1}
  end
  code[#code + 1] = {code = RET, jt = 0, jf = 0, k = accepting}
  code[#code + 1] = {code = RET, jt = 0, jf = 0, k = 0}
  return code
end

return pieces
