-- SPDX-License-Identifier: Apache-2.0
-- What is sent where and expected back at which port, from the command line. Pure, but
-- that it looks whether a file is there.

local cli = require("lib.cli")
local failure = require("core.failure")
local stat = require("posix.sys.stat")

local streams = {}

--- The frame sizes of RFC 2544, section 9.1, for Ethernet, without the frame check.
streams.RFC2544_SIZES = {60, 124, 252, 508, 1020, 1276, 1514}

local LEAST_SIZE, MOST_SIZE = 60, 10240

local function is_file(path)
  local found = stat.stat(path)
  return found ~= nil and stat.S_ISREG(found.st_mode) ~= 0
end

-- Groups of so many words.
local function grouped(words, n)
  local list = {}
  for i = 1, #words, n do
    list[#list + 1] = {unpack(words, i, i + n - 1)}
  end
  return list
end

-- One port alone, or a file and a port in any order: what is sent comes back there.
local function loop(words, with_files)
  if not with_files then return {{tx = "NIC", rx = "NIC", port = words[1]}} end
  local file, port = words[1], words[2]
  if not is_file(file) and is_file(port) then file, port = port, file end
  return {{file = file, tx = "NIC", rx = "NIC", port = port}}
end

local SILENT = "-" -- the RX-NAME of a port that only receives

local function connect(list)
  local by_name, comes_back = {}, {}
  for _, stream in ipairs(list) do
    if by_name[stream.tx] then
      failure.usage("there are two streams called '%s'", stream.tx)
    end
    by_name[stream.tx] = stream
  end
  for i, stream in ipairs(list) do
    stream.number, stream.silent = i, stream.rx == SILENT
    stream.back = stream.silent and stream or by_name[stream.rx]
    local other = comes_back[stream.rx]
    if not stream.back then
      failure.usage("the stream '%s' is to come back at '%s', but there is no stream "
        .. "of that name", stream.tx, stream.rx)
    elseif other and not stream.silent then
      failure.usage("the streams '%s' and '%s' can't both come back at '%s': what "
        .. "comes there couldn't be distinguished", other, stream.tx, stream.rx)
    end
    comes_back[stream.rx] = stream.tx
  end
  if #list == 1 and list[1].silent then failure.usage("no stream sends anything") end
  return list
end

--- The streams that the `words` behind the options mean: groups of FILE TX-NAME RX-NAME
--- PORT, or FILE PORT; without the files if not `with_files`. A list of {file (or nil),
--- tx, rx, port, number, back = the stream at whose port it comes back, silent = true
--- for one whose RX-NAME is "-": nothing is sent there}.
function streams.parse(words, with_files)
  local size = with_files and 4 or 3
  if #words == size - 2 then return connect(loop(words, with_files)) end
  if #words == 0 or #words % size ~= 0 then
    failure.usage("give %sPORT, or groups of %sTX-NAME RX-NAME PORT; not %d words; see "
      .. "--help", with_files and "FILE " or "", with_files and "FILE " or "", #words)
  end
  local list = {}
  for i, group in ipairs(grouped(words, size)) do
    if with_files then
      list[i] = {file = group[1], tx = group[2], rx = group[3], port = group[4]}
    else
      list[i] = {tx = group[1], rx = group[2], port = group[3]}
    end
  end
  return connect(list)
end

--- Converter (lib.cli): "60,1514" or "rfc2544" to an array of frame sizes in bytes,
--- without the frame check.
function streams.sizes(text)
  if text == "rfc2544" then return streams.RFC2544_SIZES end
  local sizes, whole = {}, cli.integer(LEAST_SIZE, MOST_SIZE)
  for word in (text .. ","):gmatch("([^,]*),") do
    local size, problem = whole(word)
    if not size then return nil, problem end
    sizes[#sizes + 1] = size
  end
  return sizes
end

return streams
