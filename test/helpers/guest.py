# SPDX-License-Identifier: Apache-2.0
"""Virtual machines for tests: QEMU without KVM, with emulated cards behind an IOMMU. A
guest sees the host's files, read only, and can write to one folder; Perigee is where it
is on the host. Its shell listens on the serial line."""

import contextlib
import json
import os
import pathlib
import selectors
import shlex
import shutil
import socket
import subprocess
import tempfile
import time

from helpers import guest_image
from helpers.command import ROOT, tool, wait_until
from helpers.network import Wire

BOOT_TIMEOUT_S = 180
TIMEOUT_S = 120  # everything takes ten times as long as outside
READY = "commands are taken"
MARK = "\x01"  # ends what a command says

PCI_CARDS = {"e1000"}  # not PCI Express: can't be unplugged
# Behind the IOMMU; QEMU 7.2 ends with TCG and virtio's MSI-X.
CARD_OPTIONS = {"virtio-net-pci": ",disable-legacy=on,iommu_platform=on,vectors=0"}

# QEMU counts instructions, one a nanosecond of the guest's clock; what that says doesn't
# depend on how busy this machine is.
COUNTED = ["-icount", "shift=0"]
# A virtio card sends what it has been given a microsecond later by that clock; as a rule
# QEMU does so when it comes to it.
PUNCTUAL_VIRTIO = "virtio-net-pci,tx=timer,x-txtimer=1000"

# The guest's clock may stand still for seconds while the host does something else.
BUSY_HOST = ["no_timer_check", "tsc=reliable", "nowatchdog", "mitigations=off",
             "rcupdate.rcu_cpu_stall_suppress=1"]

# The shell of tests reads commands, without prompts and echoes.
LISTEN = f"stty raw -echo; echo {READY}; cat | sh"


def command_line(folder, *, listen=LISTEN, memory=512, cpus=1, hugepages=64, shared=False,
                 reboot=False, devices=()):
    """QEMU's words for a guest that writes to `folder`; memory in MB, hugepages of 2 MB.
    With `shared`, other processes (vhost-user) can map the memory; with `reboot`, QEMU
    doesn't end when the guest does. `devices` are more words."""
    kernel_words = ["console=ttyS0", "quiet", "loglevel=1", "panic=-1", "intel_iommu=on",
                    *BUSY_HOST, f"FOLDER={folder}", f"TREE={ROOT}", f"HUGEPAGES={hugepages}",
                    f'SHELL_COMMAND="{listen}"']
    words = [tool(guest_image.QEMU), "-nodefaults", "-no-user-config", "-display", "none",
             *([] if reboot else ["-no-reboot"]), "-M", "q35,kernel-irqchip=split",
             "-accel", "tcg", "-cpu", "max", "-smp", str(cpus), "-m", str(memory), "-device", "intel-iommu,intremap=on",
             "-kernel", guest_image.kernel(), "-initrd", guest_image.INITRD,
             "-append", " ".join(kernel_words)]
    if shared:
        words += ["-object", f"memory-backend-memfd,id=ram,size={memory}M,share=on",
                  "-numa", "node,memdev=ram"]
    for tag, path, read_only in (("root", "/", True), ("tree", ROOT, True),
                                 ("folder", folder, False)):
        words += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,"
                  f"multidevs=remap{',readonly=on' if read_only else ''}"]
    return [str(word) for word in [*words, *devices]]


class CardWire(Wire):
    """The wire at a card: whole frames in and out. The card waits for who receives, and
    who sends for the card, so that nothing is lost between them."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"{path}.wire")
        self.card = f"{path}.card"

    def close(self):
        self.socket.close()

    def send(self, frame, timeout=TIMEOUT_S):
        self.socket.settimeout(timeout)
        self.socket.sendto(frame, self.card)

    def receive(self, timeout=5):
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(1 << 17)
        except TimeoutError:
            return None


def device(number, model):
    """QEMU's words for a card in a slot of its own, whose wire is the network device
    net`number`."""
    model, _, more = model.partition(",")
    behind = ["-device", f"pcie-root-port,id=slot{number},chassis={number + 1},"
              f"addr={number + 0x10:#x}"]
    if model in PCI_CARDS:
        behind, place = [], f"addr={number + 0x10:#x}"
    else:
        place = f"bus=slot{number}"
    return [*behind, "-device",
            f"{model},netdev=net{number},id=card{number},mac=52:54:00:00:00:{number:02x},"
            f"{place}{CARD_OPTIONS.get(model, '')}{more and ',' + more}"]


def card(number, model, path):
    """QEMU's words for a card whose frames come and go by the socket PATH.card, from and to
    PATH.wire."""
    return ["-netdev", f"dgram,id=net{number},local.type=unix,local.path={path}.card,"
            f"remote.type=unix,remote.path={path}.wire", *device(number, model)]


def cable(models, first=0):
    """QEMU's words for cards joined by a cable, in the slots from `first` on. It is within
    QEMU: a frame arrives in the moment it is sent, however busy this machine is."""
    return [word for number, model in enumerate(models, first)
            for word in ["-netdev", f"hubport,id=net{number},hubid={first}",
                         *device(number, model)]]


def tap(number, iface, queues):
    """QEMU's words for a virtio card with so many queues, over which QEMU spreads flows by
    their hash (RSS). The wire is the interface `iface`, which QEMU makes."""
    options = CARD_OPTIONS["virtio-net-pci"]
    return ["-device", f"pcie-root-port,id=slot{number},chassis={number + 1},"
            f"addr={number + 0x10:#x}", "-netdev", f"tap,id=net{number},ifname={iface},"
            f"script=no,downscript=no,vhost=off,queues={queues}", "-device",
            f"virtio-net-pci,netdev=net{number},id=card{number},bus=slot{number},"
            f"mac=52:54:00:00:00:{number:02x},mq=on,rss=on{options}"]


def vhost_user(path, mac, more="", queues=1, makes_socket=False):
    """QEMU's words for a virtio card whose other end, at that socket, is a process. Where
    QEMU makes the socket, it begins when the process has connected."""
    way = "server=on" if makes_socket else "reconnect=1"
    return ["-chardev", f"socket,id=chr0,path={path},{way}", "-netdev",
            f"vhost-user,id=net0,chardev=chr0,queues={queues}", "-device",
            f"virtio-net-pci,netdev=net0,mac={mac},vectors=0{more}"
            f"{',mq=on' if queues > 1 else ''}"]


class Monitor:
    """QEMU's monitor (QMP)."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rw", encoding="utf-8")
        self.events = []
        self.file.readline()  # the greeting
        self("qmp_capabilities")

    def __call__(self, command, **arguments):
        """Run a command; what it returns."""
        self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            if "event" not in answer:
                assert "return" in answer, (command, arguments, answer)
                return answer["return"]
            self.events.append(answer)


class Guest:
    """A running guest. `run` and `start` are commands in it."""

    def __init__(self, folder, cards=(), devices=(), namespace=None, **options):
        self.folder = pathlib.Path(folder)
        self.short = pathlib.Path(tempfile.mkdtemp(prefix="guest"))  # of sockets
        monitor = self.short / "monitor"
        self.wires, words = [], list(devices)
        for number, model in enumerate(cards):
            path = self.short / f"card{number}"
            self.wires.append(CardWire(path))
            words += card(number, model, path)
        words = command_line(folder, devices=words, **options)
        words += ["-serial", "stdio", "-qmp", f"unix:{monitor},server=on,wait=off"]
        words = [tool("setpriv"), "--pdeathsig", "KILL", *words]
        self.process = subprocess.Popen(
            namespace.command(*words) if namespace else words, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.raw, self.logs = b"", 0
        try:
            self.wait_for_shell()
            self.monitor = Monitor(monitor)
        except BaseException:
            self.stop()
            raise

    def wait_for_shell(self):
        """Wait until a guest that boots takes commands."""
        self.read_until(READY.encode(), BOOT_TIMEOUT_S)

    def read_until(self, text, timeout):
        """What the serial line says before `text`."""
        ends = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while text not in self.raw:
                selector.select(0.5)
                data = self.process.stdout.read()
                said = self.raw.decode(errors="replace")
                assert data != b"", f"the guest has ended: {said}"
                assert time.monotonic() < ends, f"the guest says no {text!r}: {said}"
                self.raw += data or b""
        before, _, self.raw = self.raw.partition(text)
        return before

    def run(self, *words, timeout=TIMEOUT_S):
        """Run a command to its end: words, or one text for the shell. The result has
        returncode and stdout, which is standard error, too."""
        text = words[0] if len(words) == 1 and isinstance(words[0], str) else \
            shlex.join(str(word) for word in words)
        line = f"{{ {text}\n}} </dev/null 2>&1; printf '\\001%d\\001' $?\n"
        self.process.stdin.write(line.encode())
        said = self.read_until(MARK.encode(), timeout).decode(errors="replace")
        status = int(self.read_until(MARK.encode(), timeout))
        return subprocess.CompletedProcess(text, status, said, "")

    def check(self, *words, **kwargs):
        """Run a command that must succeed; what it says."""
        result = self.run(*words, **kwargs)
        assert result.returncode == 0, (result.args, result.stdout)
        return result.stdout

    def perigee(self, *words, **kwargs):
        return self.run(ROOT / "perigee", *words, **kwargs)

    def start(self, *words):
        """Run `perigee` with these words beside the test: a Process."""
        return Process(self, [ROOT / "perigee", *words])

    def reboot(self):
        """Reset it, and wait until it has booted."""
        self.monitor("system_reset")
        self.wait_for_shell()

    def stop(self):
        self.process.kill()
        self.process.wait()
        for stream in self.process.stdin, self.process.stdout, *self.wires:
            stream.close()
        shutil.rmtree(self.short, ignore_errors=True)


class Process:
    """A process in a guest, with the methods of helpers.command.Running."""

    def __init__(self, guest, words):
        guest.logs += 1
        self.guest, self.log = guest, guest.folder / f"log{guest.logs}"
        self.log.write_text("")  # there before the shell has come to it
        text = shlex.join(str(word) for word in words)
        self.pid = int(guest.check(f"{text} >{self.log} 2>&1 & echo $!"))

    @property
    def said(self):
        return self.log.read_text(errors="replace")

    def runs(self):
        """Nobody waits for it before finish(): when it has ended it is a zombie."""
        return self.guest.run(f"grep -q '^State:.[^Z]' /proc/{self.pid}/status"
                              ).returncode == 0

    def read(self):
        """Does it go on running?"""
        return self.runs()

    def wait_for(self, text, timeout=TIMEOUT_S, count=1):
        def said():
            if self.said.count(text) < count:
                assert self.runs() or self.said.count(text) >= count, self.said
            return self.said.count(text) >= count
        wait_until(said, lambda: f"{text!r}: {self.said}", timeout=timeout)

    def wait_for_engine(self):
        """Wait until the engine of a perigee runs: it catches SIGURG (proc(5))."""
        def caught():
            assert self.runs(), self.said
            return self.guest.run(f"grep -q '^SigCgt:.*[4567cdef].....$' /proc/{self.pid}/status"
                                  ).returncode == 0
        wait_until(caught, "the engine", timeout=TIMEOUT_S)

    def finish(self, timeout=TIMEOUT_S):
        """Wait for its end; the exit status, 128 and the signal that it died of."""
        return self.guest.run(f"wait {self.pid}", timeout=timeout).returncode

    def interrupt(self, name="INT"):
        self.guest.check(f"kill -{name} {self.pid}")
        return self.finish()


@contextlib.contextmanager
def booted(folder, **options):
    """A Guest, which ends with the `with`."""
    guest_image.require()
    guest = Guest(folder, **options)
    try:
        yield guest
    finally:
        guest.stop()
