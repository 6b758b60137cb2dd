# SPDX-License-Identifier: Apache-2.0
"""What tools/clickconf and tools/clickcompare share: which configurations there are, what
each needs around it, and whether a process runs one yet."""

import os
import pathlib
import re
import signal
import sys
import time


# As root: a namespace with interfaces whose addresses files may ask for; those that are
# called as Mininet calls a host's (napt-eth1), or as wireless ones (ath0), are in $INTERFACES.
NAMESPACE = """ip link set lo up
ip link add eth0 address 02:00:00:00:01:01 type veth peer name far address 02:00:00:00:02:01
ip link add eth1 address 02:00:00:00:01:02 type veth peer name far1 address 02:00:00:00:02:02
ip addr add 10.0.0.2/24 dev eth0; ip addr add 10.0.1.2/24 dev eth1
for i in eth0 far eth1 far1; do ip link set $i up; done
ip route add default via 10.0.0.1
n=0; for i in $INTERFACES; do n=$((n + 1))
  ip link add $i address 02:00:00:00:03:0$n type veth peer name peer$n
  ip link set $i up; ip link set peer$n up
done
exec "$@" """
MININET = re.compile(r"(?<![\w-])(?:[a-zA-Z]\w{0,9}-eth\d|ath\d)(?![\w-])")


def apart(flat):
    """What to write before a command that runs this flat configuration, so that it has a
    namespace of its own, and what INTERFACES is to be there."""
    words = ["unshare", "--net", "--", "sh", "-c", NAMESPACE, "sh"]
    return (words if os.geteuid() == 0 else []), " ".join(sorted(set(MININET.findall(flat))))


def variables(file, launch, place):
    """The words VAR=VALUE of the file `launch` for a configuration; TRACE is a capture
    file in the folder `place`."""
    for line in launch.read_text().splitlines():
        name, *words = line.split()
        if name == "/".join(file.resolve().parts[-2:]):
            return [word.replace("TRACE", str(place / "trace.pcap")) for word in words]
    return []


def find(paths, tool):
    """The configurations that the paths name, folders and files."""
    found = []
    for path in paths:
        if not path.exists():
            sys.exit(f"{tool}: {path}: no such file or folder")
        found += sorted(file for file in path.rglob("*.click") if not file.is_dir()) \
            if path.is_dir() else [path]
    return found


def checkout_of(path):
    """The checkout that the folder or file belongs to: where conf/ is."""
    for folder in [path.resolve(), *path.resolve().parents]:
        if (folder / "conf").is_dir():
            return folder
    return path.resolve()


def started(process, name=""):
    """Does the process, called so by now, run a router? It catches SIGURG then (proc(5))."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return True
    caught = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)
    return name in re.search(r"Name:\s*(.*)", status)[1] \
        and bool(caught & 1 << signal.SIGURG - 1)


def cpu_seconds(process):
    """The CPU time that the process has had (proc(5)); 0 if it is no more."""
    try:
        text = pathlib.Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def let_work(process, seconds):
    """Wait until the process has had so much CPU time since now, or does nothing more after
    that time, or has ended: on a busy machine, too, it gets that far."""
    began, first = time.monotonic(), cpu_seconds(process)
    used, since = first, began
    while process.poll() is None and used - first < seconds:
        time.sleep(0.1)
        now, last = time.monotonic(), used
        used = cpu_seconds(process)
        if used != last:
            since = now
        if now - began >= seconds and now - since >= seconds / 2:
            break
