-- SPDX-License-Identifier: Apache-2.0
-- epoll_ctl() of the host binary: what is closed is passed over in DPDK's thread only.

local ffi = require("ffi")
ffi.cdef [[
int epoll_create1(int);
int epoll_ctl(int, int, int, void *);
int prctl(int option, unsigned long a, unsigned long b, unsigned long c,
          unsigned long d);
]]
local word = ffi.typeof("unsigned long")
local function thread_name(option, bytes)
  ffi.C.prctl(option, ffi.cast(word, ffi.cast("const char *", bytes)), 0, 0, 0)
end

local PR_SET_NAME, PR_GET_NAME, EPOLL_CTL_ADD, CLOSED = 15, 16, 1, 4000

describe("epoll_ctl", function()
  local name, epoll, event = ffi.new("char[16]"), nil, ffi.new("uint64_t[2]")
  before_each(function()
    thread_name(PR_GET_NAME, name)
    epoll = ffi.C.epoll_create1(0)
  end)
  after_each(function()
    thread_name(PR_SET_NAME, name)
    require("posix.unistd").close(epoll)
  end)

  it("passes over a closed descriptor in DPDK's interrupt thread", function()
    thread_name(PR_SET_NAME, "eal-intr-thread")
    assert.equal(0, ffi.C.epoll_ctl(epoll, EPOLL_CTL_ADD, CLOSED, event))
  end)

  it("tells every other thread of it", function()
    assert.equal(-1, ffi.C.epoll_ctl(epoll, EPOLL_CTL_ADD, CLOSED, event))
  end)
end)
