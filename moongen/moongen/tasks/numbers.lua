-- SPDX-License-Identifier: Apache-2.0
-- Numbers that count in all tasks, and what is said once in a process.

local numbers = {}

local kept = require("moongen.tasks.namespaces").get("moongen.tasks.numbers")

--- The next number of that name, from 1 on.
function numbers.next(name)
  local lock = kept.lock
  lock:lock()
  local n = (kept[name] or 0) + 1
  kept[name] = n
  lock:unlock()
  return n
end

--- The last that was given; 0 if none was.
function numbers.last(name) return kept[name] or 0 end

--- True for the first who asks so, whichever task it is.
function numbers.first_time(name)
  return not kept[name] and numbers.next(name) == 1
end

return numbers
