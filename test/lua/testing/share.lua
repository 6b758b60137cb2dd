-- SPDX-License-Identifier: Apache-2.0
-- Lets processes that are started with the same spec files share them: each file is run
-- by the first that comes to it. A helper of busted's; its argument (-Xhelper) is the
-- folder where a file is created for each spec file that is taken.

local busted = require("busted")
local fcntl = require("posix.fcntl")
local unistd = require("posix.unistd")

local CREATE = fcntl.O_CREAT + fcntl.O_EXCL + fcntl.O_WRONLY
local FIRST = {priority = 1} -- before those who record what is run

local function take(folder, name)
  local path = ("%s/%s"):format(folder, (name:gsub("/", "%%")))
  local fd, reason, number = fcntl.open(path, CREATE, tonumber("600", 8))
  if fd then
    unistd.close(fd)
  elseif number ~= require("posix.errno").EEXIST then
    error("can't share spec files: " .. reason, 0)
  end
  return fd ~= nil
end

-- busted asks what a file runs for functions that print its errors.
local function nothing_like(run)
  return setmetatable({getTrace = run.getTrace, rewriteMessage = run.rewriteMessage},
    {__call = function () end})
end

local folder = table.concat(arg, ",") -- busted splits it
local others -- the file, if another process has taken it

busted.subscribe({"file", "start"}, function (file)
  if take(folder, file.name) then return nil, true end
  others, file.run = file, nothing_like(file.run)
  return nil, false
end, FIRST)

busted.subscribe({"file", "end"}, function (file)
  return nil, file ~= others
end, FIRST)
