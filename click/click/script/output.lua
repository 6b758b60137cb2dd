-- SPDX-License-Identifier: Apache-2.0
-- Where scripts print: the standard output, or a file.

local text = require("click.language.text")

local output = {}

--- The file that `s`, "[>FILE | >>FILE] TEXT", begins with, open, and the text; or nil,
--- nil and a message.
function output.open(s)
  local mark, rest = s:match("^(>>?)(.*)$")
  if not mark then return io.stdout, s end
  local name
  name, rest = text.first_word(rest)
  if name == "" or name == "-" then return io.stdout, rest end
  local file, problem = io.open(name, mark == ">>" and "ab" or "wb")
  if not file then return nil, nil, problem end
  return file, rest
end

--- Write, and close the file. Nil, or what is wrong.
function output.write(file, s)
  local written, problem = file:write(s)
  if file == io.stdout then
    file:flush()
    return nil
  end
  local closed, last = file:close()
  if not (written and closed) then return problem or last end
end

return output
