-- SPDX-License-Identifier: Apache-2.0
local arithmetic = require("click.script.arithmetic")

-- Each line: a function, its text, and what it gives.
local function check(cases)
  for line in cases:gmatch("[^\n]*=>[^\n]*") do
    local name, argument, result = line:match("^%s*(%S+) ?(.-) => (.*)$")
    local got, problem = arithmetic[name](argument)
    assert.equal(result, got or "error: " .. problem, line)
  end
end

describe("arithmetic of scripts", function ()
  it("has integers of 64 bits, and doubles", function ()
    check [[
      add 1 2 3 => 6
      add => 0
      add 10 0x10 => 26
      add 1 2.5 => 3.5
      add 1.5 x => error: expected list of numbers
      add 9223372036854775807 1 => -9223372036854775808
      add 9223372036854775808 1 => 9.22337203685e+18
      sub 10 2 2 => 6
      sub 5 => 5
      mul 1 2 3 => 6
      mul 100000 100000 100000 => 1000000000000000
      mul => 1
      div 75 2.5 5 => 6
      div 10 4 => 2.5
      div 1 0 => inf
      idiv 60 2 5 => 6
      idiv 7 2 => 3
      idiv -7 2 => -3
      idiv 1 0 => -9223372036854775808
    ]]
  end)

  it("goes over lists", function ()
    check [[
      min 10 6 20 => 6
      max -1 6 3 => 6
      max 1 2.5 2 => 2.5
      avg 1 2 3 => 2
      avg 1 2 => 1
      avg 1.0 2 => 1.5
      avg => 2147483647
      count 1 0 3 => 3
      popcount 1 0 3 => 2
      popcount .01 0.32 0 => 2
      gt_vec 0 0.01 0.32 0 => 2
      gt_vec 0.02 0.01 0.32 0 => 1
      gt_vec 5 0 2 7 => 1
    ]]
  end)

  it("has remainders", function ()
    check [[
      mod 7 3 => 1
      mod -7 3 => -1
      mod 7 0 => error: division by zero
      mod -9223372036854775808 -1 => 0
      mod 7.5 2 => error: expected two numbers
      mod 7 => error: expected two numbers
      rem 7.5 2 => 1.5
      rem 7 3 => 1
    ]]
  end)

  it("has functions of one number", function ()
    check [[
      neg 5 => -5
      neg -1.5 => 1.5
      abs -9 => 9
      ceil 17.35 => 18
      floor 17.33 => 17
      round 17.33 => 17
      round 17.51 => 18
      round -0.5 => -1
      round 12 => 12
      neg => error: expected one number
      neg 1 2 => error: expected one number
    ]]
  end)

  it("compares numbers, and text by its bytes", function ()
    check [[
      eq 10 0xA => true
      eq 10 10.0 => true
      eq 10x 10x => true
      eq "a b" 'a b' => true
      ne 1 2 => true
      le 9 8 => false
      lt 9 10 => true
      lt 9x 10x => false
      ge 2 2 => true
      gt 9223372036854775807 9223372036854775806 => true
      eq 1 => error: expected two numbers
    ]]
  end)

  it("swaps bytes", function ()
    check [[
      htons 0x1234 => 13330
      ntohs 13330 => 4660
      htonl 0x12345678 => 2018915346
      ntohl 6 => 100663296
      htonl -1 => 4294967295
      htonl x => error: syntax error
    ]]
  end)
end)
