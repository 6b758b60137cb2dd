-- SPDX-License-Identifier: Apache-2.0
-- Sends what a server's session (lib.sockets) has to say, as much as its client takes.

local ffi = require("ffi")
local errno = require("posix.errno")

ffi.cdef [[
  ssize_t perigee_send(int fd, const void *data, size_t size, int flags)
    __asm__("send");
  ssize_t perigee_write(int fd, const void *data, size_t size) __asm__("write");
]]

local output = {}

local MSG_DONTWAIT, MSG_NOSIGNAL = 0x40, 0x4000 -- Linux, <sys/socket.h>
local AT_ONCE = 65536 -- bytes, before a system call is worth it

--- Does the error's number say that there is nothing to read, or no room, for now?
function output.would_wait(number)
  return number == errno.EAGAIN or number == errno.EINTR
end

--- One write of what is in `data` behind its first `sent` bytes: bytes taken; nil if
-- the client has gone.
function output.send_some(fd, data, sent)
  sent = sent or 0
  local bytes, size = ffi.cast("const char *", data) + sent, #data - sent
  local n = ffi.C.perigee_send(fd, bytes, size, MSG_DONTWAIT + MSG_NOSIGNAL)
  if n < 0 and ffi.errno() == errno.ENOTSOCK then
    n = ffi.C.perigee_write(fd, bytes, size)
  end
  if n >= 0 then return tonumber(n) end
  return output.would_wait(ffi.errno()) and 0 or nil
end

-- Join strings until the first is worth a system call. Of that, `sent` bytes have been
-- sent: those that are left, and how many bytes of their first have been.
local function joined(list, sent)
  local size, n = #list[1] - sent, 1
  while size < AT_ONCE and list[n + 1] do
    n = n + 1
    size = size + #list[n]
  end
  if n == 1 then return list, sent end
  list[1] = list[1]:sub(sent + 1)
  local left = {table.concat(list, "", 1, n)}
  for i = n + 1, #list do left[i - n + 1] = list[i] end
  return left, 0
end

--- Send what there is room for. False if the client has gone. Large strings aren't
-- copied.
function output.send(fd, session)
  if session.outgoing == 0 then return true end
  local list, sent = session.output, session.sent or 0
  repeat
    list, sent = joined(list, sent)
    local n = output.send_some(fd, list[1], sent)
    if not n then return false end
    session.outgoing, sent = session.outgoing - n, sent + n
    local is_sent = sent == #list[1]
    if is_sent then
      table.remove(list, 1)
      sent = 0
    end
    session.output, session.sent = list, sent
  until not is_sent or session.outgoing == 0
  return true
end

return output
