# SPDX-License-Identifier: Apache-2.0
"""--sandbox: once packets flow, a process starts no program and opens no file that isn't
named. An app inside tries it, with each kind of port, in each thread."""

import json
import os
import pathlib
import shutil
import tempfile

import pytest

from helpers.command import PERIGEE, readable_copy, run, running
from helpers.network import Namespace
from helpers.sandbox import environment, folder_for_all

NOBODY = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups")
CAPABILITIES = "+net_raw,+net_admin"  # of what packet and TAP ports need
IS_ROOT = os.geteuid() == 0

# What an app tries in its fifth breath; each says whether it worked.
ATTACK = """
local Attack = {}
Attack.__index = Attack
function Attack:new(folder) return setmetatable({n = 0, folder = folder}, Attack) end
local function tries(folder)
  local ffi = require("ffi")
  ffi.cdef[[
    int execve(const char *, char *const *, char *const *);
    int unshare(int); int chmod(const char *, unsigned); int socket(int, int, int);
    long ptrace(long, int, void *, void *);
    int mount(const char *, const char *, const char *, unsigned long, const void *);
    int link(const char *, const char *); int symlink(const char *, const char *);
    int truncate(const char *, long);
    int ioctl(int, unsigned long, const char *); int shmget(int, size_t, int);
    int msgget(int, int); int mq_open(const char *, int);
    int getppid(void);
    int prlimit(int, int, const uint64_t *, uint64_t *);
  ]]
  local C = ffi.C
  local function answers_but_eperm(status) return status >= 0 or ffi.errno() ~= 1 end
  local function opens(path, mode)
    return function ()
      local file = io.open(folder .. path, mode)
      if file then file:close() end
      return file ~= nil
    end
  end
  return {
    popen = function ()
      local pipe = io.popen("echo it ran")
      return pipe and pipe:read("*a"):find("it ran") ~= nil
    end,
    execute = function () return os.execute("true") == 0 end,
    exec = function ()
      C.execve("/bin/true", ffi.new("char *[1]"), ffi.new("char *[1]"))
      return false
    end,
    exec_own = function ()
      C.execve("/proc/self/exe", ffi.new("char *[1]"), ffi.new("char *[1]"))
      return false
    end,
    read = opens("/secret", "r"),
    write = opens("/secret", "w"),
    append = opens("/secret", "a"),
    make = opens("/new", "w"),
    around = opens("/../../proc/self/root" .. folder .. "/secret", "r"),
    remove = function () return os.remove(folder .. "/secret") ~= nil end,
    rename = function () return os.rename(folder .. "/secret", folder .. "/b") ~= nil end,
    hard_link = function () return C.link(folder .. "/secret", folder .. "/c") == 0 end,
    symbolic_link = function () return C.symlink("secret", folder .. "/d") == 0 end,
    truncate = function () return C.truncate(folder .. "/secret", 1) == 0 end,
    system = function () return io.open("/etc/shadow") ~= nil end,
    others = function () return io.open("/proc/1/environ") ~= nil end,
    set_uid = function ()
      return C.chmod(folder .. "/secret", tonumber("4755", 8)) == 0
    end,
    namespace = function () return C.unshare(0x10000000) == 0 end,
    mount = function () return C.mount("none", folder, "tmpfs", 0, nil) == 0 end,
    trace = function () return C.ptrace(16, 1, nil, nil) == 0 end,
    -- A terminal's user seems to type it. (Others than terminals know no such request.)
    types = function () return answers_but_eperm(C.ioctl(0, 0x5412, "x")) end,
    types_unmasked = function ()
      return answers_but_eperm(C.ioctl(0, 0x100005412ULL, "x"))
    end,
    selects_text = function () return answers_but_eperm(C.ioctl(0, 0x541c, "\2")) end,
    shared_memory = function () return C.shmget(0, 4096, 384) >= 0 end,
    messages = function () return C.msgget(0, 384) >= 0 end,
    queue = function () return answers_but_eperm(C.mq_open("/none", 0)) end,
    limits = function ()
      return C.prlimit(ffi.C.getppid(), 7, nil, ffi.new("uint64_t[2]")) == 0
    end,
    kernel_addresses = function ()
      local file = io.open("/proc/kallsyms")
      local line = file and file:read("*l") or "0 "
      return line:match("^%x+"):find("[^0]") ~= nil
    end,
    -- What is to work.
    can_load = function () return require("lib.picture.plot") ~= nil end,
    can_share = function ()
      return require("core.counter").create("attack/tried.counter") ~= nil
    end,
    can_write_named = opens("/named/file", "w"),
    can_make_socket = function () return C.socket(2, 1, 0) >= 0 end,
    -- As D-Bus and others take orders; a port that connects to its peer may need it.
    unix_socket = function () return C.socket(1, 1, 0) >= 0 end,
  }
end
function Attack:pull()
  self.n = self.n + 1
  if self.n ~= 5 then return end
  local worked = {}
  for name, try in pairs(tries(self.folder)) do
    local ok, result = pcall(try)
    if ok and result then worked[#worked + 1] = '"' .. name .. '"' end
  end
  print("WORKED [" .. table.concat(worked, ",") .. "]")
  io.flush()
end
return {Attack = Attack}
"""
GRAPH = """
local port, folder, cpu = ...
local c = config.new()
config.app(c, "port", require("apps.port.port").Port, port)
config.app(c, "attack", require("attack").Attack, folder)
if cpu then config.cpu(c, "attack", tonumber(cpu)) end
engine.configure(c)
engine.main{no_report = true}
"""
CAN = {"can_load", "can_share", "can_write_named", "can_make_socket"}


@pytest.fixture
def folder():
    with folder_for_all() as path:
        (path / "ports" / "in.pcap").write_bytes(bytes.fromhex(
            "d4c3b2a1020004000000000000000000ffff000001000000" +
            "0000000000000000" + "3c0000003c000000" + "00" * 60))
        (path / "script" / "attack.lua").write_text(ATTACK)
        (path / "script" / "graph.lua").write_text(GRAPH)
        yield path


@pytest.fixture(scope="module")
def tree():
    path = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    yield readable_copy(path)
    shutil.rmtree(path)


def attacked(folder, port, before=(), program=PERIGEE, cpu=()):
    """What an app could do inside; the names of what it tried with success."""
    with running(*before, program, "--sandbox", "--sandbox-path", folder / "named",
                 "run", folder / "script" / "graph.lua", port, folder, *cpu,
                 env=environment(folder), cwd="/") as process:
        process.wait_for("WORKED [")
        process.wait_for("]\n")
        threads = [(path / "status").read_text()
                   for path in pathlib.Path(f"/proc/{process.pid}/task").iterdir()]
        assert process.interrupt() == 0, process.said
        said = process.said
    assert all("Seccomp:\t2" in t and "NoNewPrivs:\t1" in t for t in threads), threads
    assert "traceback" not in said, said
    assert not list((folder / "ports").glob("*.sock")), said
    assert not [path for path in (folder / "run" / "shm").iterdir()
                if path.name.isdigit()], said
    return set(json.loads(said.split("WORKED ", 1)[1].split("\n")[0]))


def expected(port):
    return CAN | ({"unix_socket"} if "role=client" in port or "client=1" in port else set())


PORTS = ["null", "pcap:rx={0}/ports/in.pcap,tx={0}/ports/out.pcap,loop=1",
         "memif:socket={0}/ports/m.sock,role=server",
         "vhost:{0}/ports/v.sock", "vhost:{0}/ports/w.sock,client=1",
         "virtio-user:{0}/ports/u.sock,server=1"]


@pytest.mark.parametrize("port", PORTS)
def test_nothing_is_started_nor_opened(folder, port):
    assert attacked(folder, port.format(folder)) == expected(port)
    assert (folder / "secret").read_text() == "nobody's"


@pytest.mark.skipif(not IS_ROOT, reason="becoming another user needs root")
@pytest.mark.parametrize("port", PORTS)
def test_as_an_ordinary_user(folder, tree, port):
    assert attacked(folder, port.format(folder), NOBODY, tree) == expected(port)


@pytest.mark.skipif(not IS_ROOT, reason="making interfaces needs root")
@pytest.mark.parametrize("port, user", [
    ("packet:sandbox0", "root"), ("xdp:sandbox0", "root"), ("tap:sandbox2", "root"),
    ("packet:sandbox0", "nobody"), ("tap:sandbox2", "nobody")])
def test_with_interfaces(folder, tree, port, user):
    """Also for a user who may only have interfaces, as the packaged unit's."""
    as_nobody = (*NOBODY, "--inh-caps", CAPABILITIES, "--ambient-caps", CAPABILITIES)
    space = Namespace("sandbox")
    try:
        space.ip("link", "add", "sandbox0", "type", "veth", "peer", "name", "sandbox1")
        for name in "sandbox0", "sandbox1":
            space.ip("link", "set", name, "up")
        before = space.command(*as_nobody) if user == "nobody" else space.command()
        assert attacked(folder, port, before, tree if user == "nobody" else PERIGEE) == CAN
    finally:
        space.remove()


# A filter around perigee answers landlock_create_ruleset(2) as an older kernel does.
OLDER = """
import ctypes, os, sys
lib = ctypes.CDLL("libseccomp.so.2")
lib.seccomp_init.restype = ctypes.c_void_p
filter = ctypes.c_void_p(lib.seccomp_init(0x7fff0000))
assert lib.seccomp_rule_add_array(filter, 0x00050000 | {errno}, 444, 0, None) == 0
assert lib.seccomp_load(filter) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.parametrize("errno, why", [
    (38, "this kernel has no Landlock (Linux 5.13 has)"), (95, "Landlock is switched off"),
    (1, "Landlock can't be used: Operation not permitted")])
def test_kernels_without_landlock(folder, errno, why):
    result = run("/usr/bin/python3", "-c", OLDER.format(errno=errno), PERIGEE, "--sandbox",
                 "echo", "null", "1", "0.1", env=environment(folder))
    assert (result.returncode, result.stderr) == (0, (
        f"perigee: --sandbox: {why}, so files aren't kept from this process; it only can't "
        "start programs, nor change the system\n")), result


def test_threads_of_other_cpus(folder):
    """They run before: an app of theirs tries it."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    assert attacked(folder, "null", cpu=(str(cpus[1]),)) == CAN
