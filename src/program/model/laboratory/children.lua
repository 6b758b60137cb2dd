-- SPDX-License-Identifier: Apache-2.0
-- Runs parts of the measurement as processes of their own (another perigee, another
-- DPDK, a namespace): what goes wrong in one is a sentence in the result, no more.

local cjson = require("cjson")
local unistd = require("posix.unistd")
local main = require("core.main")

local M = {}

local TIMEOUT_S = 60

--- A word, quoted for the shell.
function M.quoted(word)
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

-- The shell command of this program with the same options; `plain`: no hugepages.
local function perigee(words, plain)
  local command = {"timeout -k 5 " .. TIMEOUT_S,
    M.quoted(assert(unistd.readlink("/proc/self/exe")))}
  for _, word in ipairs(main.options) do command[#command + 1] = M.quoted(word) end
  if plain then command[#command + 1] = "--eal --no-huge" end
  for _, word in ipairs(words) do command[#command + 1] = M.quoted(word) end
  return table.concat(command, " ")
end

-- Why a process failed: the last sentence it said that isn't a mere remark.
local function reason(lines, status)
  if status == 124 or status == 137 then
    return ("it wasn't done after %d seconds"):format(TIMEOUT_S)
  end
  for i = #lines, 1, -1 do
    local sentence = lines[i]:match("^perigee: (.*)")
    if sentence and not sentence:match("^there is memory for")
      and not sentence:match("^the packet pool has grown") then
      return sentence:gsub("^app '%w+': ", "")
    end
  end
  return #lines > 0 and lines[#lines] or ("it ended with status %d"):format(status)
end

--- Run `perigee WORDS` (a list); `wrap` makes of its shell command another (optional);
--- seen(message) is called with each line of JSON it prints; with `plain`, it takes no
--- hugepages. Nil, or why it failed.
function M.run(words, seen, wrap, plain)
  local command = perigee(words, plain)
  if wrap then command = wrap(command) end
  local pipe = io.popen("{ " .. command .. "; } 2>&1 </dev/null; echo \"status $?\"")
  local others, status, done = {}, 1, false
  for line in pipe:lines() do
    local ok, message = false, nil
    if line:sub(1, 1) == "{" then ok, message = pcall(cjson.decode, line) end
    if ok then
      done = done or message.done
      seen(message)
    elseif line:match("^status %d+$") then
      status = tonumber(line:match("%d+"))
    else
      others[#others + 1] = line
    end
  end
  pipe:close()
  if status ~= 0 or not done then return reason(others, status) end
end

return M
