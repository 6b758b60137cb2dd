# SPDX-License-Identifier: Apache-2.0
"""Machines with less: one CPU, little memory, no hugepages, a root that is read only, a
small /dev/shm or none, no rights, an old CPU. What `make demo` does, and a Click file, run
there, or a sentence says what is missing."""

import os
import pathlib
import re
import shutil
import struct

import pytest

from helpers.command import PERIGEE, ROOT, is_sanitized, readable_copy, run, tool

PACKETS, CHAIN = 5000, 10
MB = 1 << 20

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="mounts, and makes cgroups")

# What a shell runs in each of these machines; {folder} can be written to.
WORK = f"""set -e
cd {ROOT}
export SNABB_SHM_ROOT={{folder}} XDG_RUNTIME_DIR={{folder}}
{PERIGEE} run examples/generate.lua pcap:tx={{folder}}/in.pcap {PACKETS}
{PERIGEE} echo pcap:rx={{folder}}/in.pcap,tx={{folder}}/out.pcap {CHAIN}
{PERIGEE} run tools/same_packets.lua {{folder}}/in.pcap {{folder}}/out.pcap
{PERIGEE} click {{folder}}/count.click -h c.count
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "count.click").write_text(
        f"InfiniteSource(LIMIT {PACKETS}, STOP true) -> c :: Counter -> Discard;\n")
    tmp_path.chmod(0o700)
    return tmp_path


def packets_in(path):
    data, at, n = path.read_bytes(), 24, 0
    while at < len(data):
        at, n = at + 16 + struct.unpack_from("<I", data, at + 8)[0], n + 1
    return n


def works(folder, *before, prepare=""):
    """All of WORK, behind the words `before`, after the lines `prepare` of sh."""
    script = f"{prepare}\n{WORK.format(folder=folder)}"
    result = run(*before, tool("sh"), "-c", script, timeout=300)
    assert result.returncode == 0, result.stderr[-2000:] + result.stdout[-500:]
    assert packets_in(folder / "in.pcap") == packets_in(folder / "out.pcap") == PACKETS
    assert result.stdout.split()[-1] == str(PACKETS)


def mounted(folder, lines):
    """The same with other mounts: `lines` of sh in a mount namespace."""
    works(folder, tool("unshare"), "--mount", prepare=f"mount --make-rprivate /\n{lines}")


def test_one_cpu(folder):
    cpu = min(os.sched_getaffinity(0))
    works(folder, tool("taskset"), "-c", str(cpu))


@root_only
def test_no_hugepages(folder):
    """Neither a file system of them nor one of which it may have any."""
    mounted(folder, "mount -t tmpfs -o ro none /dev/hugepages 2>/dev/null || true\n"
                    "mount -t tmpfs -o ro none /sys/kernel/mm/hugepages || true")


@root_only
def test_dev_shm_as_docker_gives_it(folder):
    mounted(folder, "mount -t tmpfs -o size=64m none /dev/shm")


@root_only
def test_no_dev_shm(folder):
    mounted(folder, "mount -t tmpfs -o ro none /dev/shm")


@root_only
def test_a_root_that_is_read_only(folder):
    """But for one folder, as README says of containers."""
    mounted(folder, f"mount --bind {folder} {folder}\nmount -o remount,bind,ro /\n"
                    f"! touch {ROOT}/perigee-wrote 2>/dev/null")


@root_only
def test_nothing_can_be_written_to():
    result = run(tool("unshare"), "--mount", "sh", "-c",
                 "mount --make-rprivate /\n"
                 "for where in /dev/shm /run /tmp /var; do\n"
                 "  mount -t tmpfs -o ro none $where; done\n"
                 f"unset SNABB_SHM_ROOT XDG_RUNTIME_DIR; {PERIGEE} echo null 1 0.1")
    assert result.returncode == 1
    assert result.stderr.startswith("perigee: can't make the shared memory directory: ")
    assert result.stderr.endswith(
        "; let SNABB_SHM_ROOT name a folder that can be written to\n")
    assert "Read-only file system" in result.stderr and result.stderr.count("\n") == 1


def test_a_user_namespace_without_root(folder):
    words = [tool("unshare"), "--user", "--map-root-user"]
    if run(*words, "true").returncode:
        pytest.skip("this kernel lets users make no namespaces")
    works(folder, *words)


class Cgroup:
    """A control group of version 1 or 2 with a limit of memory, while it is open."""

    def __init__(self, limit):
        self.limit = limit
        old = pathlib.Path("/sys/fs/cgroup/memory")
        self.path = (old if old.is_dir() else old.parent) / f"perigee-test-{os.getpid()}"
        self.knob = "memory.limit_in_bytes" if old.is_dir() else "memory.max"

    def __enter__(self):
        try:
            self.path.mkdir()
            (self.path / self.knob).write_text(str(self.limit))
        except OSError as error:
            if self.path.is_dir():
                self.path.rmdir()
            pytest.skip(f"no control group can be made here: {error}")
        return self

    def __exit__(self, *_):
        self.path.rmdir()


@root_only
def test_256_mb_of_memory(folder):
    with Cgroup(256 * MB) as group:
        works(folder, prepare=f"echo $$ >{group.path}/cgroup.procs")


# What is missing: lines of sh, and the sentence. Those that DPDK would say, in lines of
# its own, and those of which it wouldn't start with some devices, or would end silently.
REFUSED = {
    "no /proc": ("mount -t tmpfs none /proc",
                 "/proc/self/exe can't be read: No such file or directory; /proc has to be "
                 "mounted (mount -t proc proc /proc)"),
    "no /sys": ("mount -t tmpfs none /sys",
                "DPDK finds CPUs in /sys/devices/system/cpu, which can't be read; /sys has "
                "to be mounted (mount -t sysfs sysfs /sys)"),
    "few files": ("ulimit -n 10", r"DPDK opens 10 files, and this process may open \d more; "
                  r"raise the limit \(ulimit -n\)"),
    "no threads": ("set -- prlimit --nproc=1 setpriv --reuid=65533 --clear-groups $@",
                   "DPDK starts threads, and this user may start no more; raise the limit "
                   "(ulimit -u, or of a container)"),
    "little address space": (
        "ulimit -v 400000", r"DPDK needs \d+ MB of address space, which this process can't "
        r"have; raise the limit \(ulimit -v\)"),
    "no files of any size": (
        "ulimit -f 0", r"can't reserve \d+ bytes for \S+: File too large"),
}


@root_only
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_missing_is_said_in_a_sentence(name, tmp_path):
    if name in ("few files", "no threads", "little address space") and is_sanitized():
        pytest.skip("GCC's checks need more than that")
    tmp_path.chmod(0o755)
    readable_copy(tmp_path)
    lines, sentence = REFUSED[name]
    script = (f"mount --make-rprivate /\nmount -t tmpfs none /dev/shm\n"
              f"mount --bind {tmp_path} /mnt\nset -- /mnt/perigee click -e 'Idle->Discard'\n"
              f"{lines}\nexec \"$@\"")
    result = run(tool("unshare"), "--mount", "sh", "-c", script)
    assert result.returncode == 1, result.stdout + result.stderr
    wanted = sentence if "\\" in sentence else re.escape(sentence)
    assert re.fullmatch(f"perigee: {wanted}\n", result.stderr), result.stderr


@root_only
def test_files_of_limited_size(folder):
    """Larger than those of WORK, smaller than DPDK's for hugepages."""
    works(folder, prepare="ulimit -f 8192")


def emulated(cpu, program, *words):
    emulator = shutil.which("qemu-x86_64") or shutil.which("qemu-x86_64-static")
    if not emulator:
        pytest.skip("there is no qemu-x86_64 here (Debian's qemu-user)")
    return run(emulator, "-cpu", cpu, program, *words, timeout=300)


def test_a_cpu_without_what_it_was_built_for():
    """The tests' own build is for this machine's CPU."""
    if "avx" not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("this CPU has no AVX itself")
    result = emulated("Nehalem", PERIGEE, "--version")
    if result.returncode == 0:
        pytest.skip("it was built for any CPU (ARCH=x86-64-v2)")
    assert (result.returncode, result.stdout, result.stderr) == (
        1, "", "perigee: this CPU has no avx, for which perigee was built; build it on this "
               "machine (make), or for more CPUs (make ARCH=x86-64-v2)\n")


def test_a_build_for_more_cpus_runs_without_avx():
    """`make guest-perigee` makes it, as the tests in virtual machines need it."""
    program = ROOT / "build/guest/perigee"
    if not program.exists():
        pytest.skip("there is no build/guest/perigee: make guest-perigee")
    result = emulated("Nehalem", program, "--version")
    assert result.returncode == 0 and result.stdout.startswith("perigee "), result.stderr
