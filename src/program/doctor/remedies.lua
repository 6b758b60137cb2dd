-- SPDX-License-Identifier: Apache-2.0
-- What to do about each reason for which LuaJIT doesn't compile code.

local remedies = {}

-- Bytecodes that aren't compiled (lj_record.c).
local BYTECODES = {
  FNEW = "a function is made here (function ... end) for each packet: make it once, "
    .. "outside, and give it what it needs as arguments",
  UCLO = "a local that an inner function uses goes out of scope here: make that "
    .. "function outside, once",
  TSETM = "a table is made of all results of a call: name them",
  VARG = "... is used with an unknown number of values: take named arguments",
  ISNEXT = "pairs() isn't compiled here: keep an array as well as the table, and go "
    .. "through it with a numeric for",
  ITERN = "pairs() isn't compiled here: keep an array as well as the table, and go "
    .. "through it with a numeric for",
  CAT = "strings are joined for each packet: do it where it is reported",
}

-- By Lua pattern, in the words of LuaJIT's messages (lj_traceerr.h).
local REASONS = {
  {"^leaving loop in root trace", "the loop mostly runs once: if that is so for each "
    .. "packet, write it without a loop; the packets of a burst belong in one numeric "
    .. "for in a function of its own"},
  {"^inner loop in root trace", "a loop runs inside of this one for each packet: "
    .. "unroll it if its length is fixed, or put it into a function of its own"},
  {"^loop unroll limit", "an inner loop runs a different number of times each time: "
    .. "put it into a function of its own, or do that work in C"},
  {"^call unroll limit", "recursion: write it as a loop"},
  {"^down%-recursion", "recursion: write it as a loop"},
  {"return to lower frame", "a trace began in a function and would go on in its "
    .. "caller: no pcall() around what moves packets, no `...`; let the loop of the "
    .. "burst be the innermost, and nothing leave it early"},
  {"^blacklisted", "it calls a function that LuaJIT has given up on because it was "
    .. "also called where it can't be compiled (tables, strings, reports): have one "
    .. "function for the packet path and one for the rest"},
  {"^JIT compilation disabled", "somebody called jit.off() for it: slow code only. "
    .. "(Debian 12's first LuaJIT has it off for pairs and next: take its libluajit2)"},
  {"^too many snapshots", "too many branches in one loop: split the app in two, or "
    .. "move rare cases into functions of their own"},
  {"^trace too long", "the loop does too much: split the app in two"},
  {"^trace too deep", "calls are nested too deeply: call fewer functions in turn"},
  {"^machine code too long", "the loop does too much: split the app in two"},
  {"^too many spill slots", "too many values are alive at once: split the function"},
  {"^too many PHIs", "too many locals change in the loop: split the function, or keep "
    .. "them in one FFI struct"},
  {"type instability", "a variable changes its type (nil or number, double or int64, "
    .. "nil or packet) from one packet to the next: give it one type"},
  {"FastFunc", "this built-in function isn't compiled with these arguments: do it in "
    .. "another way, or where it is reported"},
  {"C type conversion", "an FFI value is converted in a way that isn't compiled (a "
    .. "struct by value, a string, a callback): use pointers and numbers"},
  {"C function type", "this C function isn't called from compiled code (variadic, or "
    .. "structs by value): wrap it in one that takes pointers and numbers"},
  {"^failed to allocate mcode", "memory for compiled code near LuaJIT's own ran out: "
    .. "start again; if it comes back, report it"},
  {"^store with nil or NaN key", "a table is indexed with nil or NaN"},
  {"^missing metamethod", "an operation on a table or FFI value has no metamethod"},
  {"^bad argument type", "a built-in function gets an argument of the wrong type"},
  {"^looping index lookup", "__index leads round in a circle"},
  {"mixed sparse/dense", "a table is written with keys out of order: fill it before "
    .. "packets come"},
  {"isn't compiled", "it is called for each packet or burst: do without, or do it in "
    .. "tick() or report(), or once a second"},
  {"failed too often", "a rare branch here goes on in the interpreter, because what "
    .. "follows couldn't be compiled, often because of a pcall() around it: see the "
    .. "other lines about this app; else make the branch rarer or simpler"},
  {"^guard would always fail", "a value here changes each time: make it a field of "
    .. "an FFI struct"},
}

--- What to do about `reason`, a sentence without a full stop.
function remedies.of(reason)
  local bytecode = reason:match("bytecode (%w+)")
  if bytecode then
    return BYTECODES[bytecode]
      or "this operation isn't compiled: write it in another way, or do it in C"
  end
  for _, entry in ipairs(REASONS) do
    if reason:find(entry[1]) then return entry[2] end
  end
  return "LuaJIT can't compile this: write it in another way, or do it in C"
end

return remedies
