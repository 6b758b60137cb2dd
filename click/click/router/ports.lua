-- SPDX-License-Identifier: Apache-2.0
-- Click's three codes for the ports of an element class, decoded. Pure.
--
--   ports       "1/1-2", "-/=": how many inputs and outputs there may be
--   processing  "a/ah": a letter for each port, push (h), pull (l) or either (a); the
--               last goes for those that follow
--   flow        "xy/x", "#/[^#]": an input leads to the outputs that share a letter
--               with it; # is the port's own number

jit.off(true, true) -- what runs once isn't worth it, and packets would wait

local ports = {}

-- The range at the beginning of `text` ("2", "1-", "-"), and the rest of it; or nil.
local function range(text)
  local low, dash, high, rest = text:match("^(%d*)(%-?)(%d*)(.*)$")
  if low == "" and dash == "" and rest ~= "" then return nil end
  low = tonumber(low) or 0
  return low, dash == "" and low or tonumber(high) or math.huge, rest
end

local function within(n, low, high) return math.max(low, math.min(n, high)) end

--- How many inputs and outputs an element has of which the first `ninputs` and
--- `noutputs` are in use, if its class allows so many; the nearest it allows else. Nil
--- if the code is no port count.
function ports.count(code, ninputs, noutputs)
  local low, high, rest = range(code)
  if not low then return nil end
  ninputs = within(ninputs, low, high)
  local out = rest == "" and code or rest:match("^/(.*)$")
  if not out then return nil end
  local equal, more = out:match("^(=)(%+*)$")
  if equal then return ninputs, ninputs + #more end
  low, high, rest = range(out)
  if not low or rest ~= "" then return nil end
  return ninputs, within(noutputs, low, high)
end

local function letters(code, n)
  if n == 0 then return "" end
  if not code:match("^[hla]+$") then return nil end
  return code:sub(1, n) .. code:sub(-1):rep(n - #code)
end

--- A letter for each input, and one for each output: two strings; or nil if the code
--- isn't one.
function ports.processing(code, ninputs, noutputs)
  local inputs, outputs = code:match("^([^/]*)/?(.*)$")
  if not code:find("/", 1, true) then outputs = inputs end
  inputs, outputs = letters(inputs, ninputs), letters(outputs, noutputs)
  if not (inputs and outputs) then return nil end
  return inputs, outputs
end

-- The flow code of one side as a list of {negated =, letters = set}, # among them.
local function sets(side)
  local list, at = {}, 1
  while at <= #side do
    local negated, inside, rest = side:match("^%[(%^?)([%a#]*)%]()", at)
    if not inside then
      negated, inside, rest = "", side:match("^([%a#])()", at)
    end
    if not inside then return nil end
    local set = {}
    for letter in inside:gmatch(".") do set[letter] = true end
    list[#list + 1] = {negated = negated == "^", letters = set}
    at = rest
  end
  return list
end

-- Is `letter`, or the number of a port, in the set of port `number`?
local function has(set, letter, number)
  local found
  if type(letter) == "number" then
    found = set.letters["#"] and letter == number
  else
    found = set.letters[letter]
  end
  return (found or false) ~= set.negated
end

local function meet(a, i, b, j)
  if a.negated and b.negated then return true end
  if a.negated then a, i, b, j = b, j, a, i end
  for letter in pairs(a.letters) do
    if has(b, letter == "#" and i or letter, j) then return true end
  end
  return false
end

--- Does input `i` lead to output `j` (numbers from 1)? Nil if the code isn't one.
function ports.flows(code, i, j)
  if code == "x/x" or code == "x" then return true end
  local left, right = code:match("^([^/]+)/?(.*)$")
  if not left then return nil end
  local inputs, outputs = sets(left), sets(right == "" and left or right)
  if not (inputs and outputs) then return nil end
  local a, b = inputs[math.min(i, #inputs)], outputs[math.min(j, #outputs)]
  return meet(a, i, b, j)
end

return ports
