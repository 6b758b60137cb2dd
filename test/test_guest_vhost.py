# SPDX-License-Identifier: Apache-2.0
"""`perigee nfv` between two virtual machines (helpers/guest.py), whose kernels drive the
virtio cards."""

import contextlib
import os
import re

import pytest

from helpers import guest_image
from helpers.command import running, wait_until
from helpers.guest import Guest, vhost_user
from helpers.nfv import A, B, Bench, port

LONG = bool(os.environ.get("PERIGEE_LONG"))
REBOOTS = 5 if LONG else 1
MTU = 9000
FLOWS = 32


def ports(b_vlan=42):
    """A, and B with two pairs of queues."""
    return port("A", vlan=42), port("B", vlan=b_vlan, queues=2)


class Machines(Bench):
    """A switch, and the guests A and B at it."""

    def __init__(self, folder, stack, make_sockets=False):
        super().__init__(folder)
        self.stack, self.switch, self.make_sockets = stack, None, make_sockets
        self.guests = [None, None]
        self.write(*ports())

    def start_switch(self):
        program = running(*self.command("soft")) if self.make_sockets else self.nfv()
        self.switch = self.stack.enter_context(program)
        self.switch.wait_for("nfv traffic:")

    def change(self, *ports):
        """Another configuration, which the running switch takes over."""
        before = self.switch.said.count("read again")
        self.write(*ports)
        self.switch.wait_for("read again", count=before + 1)

    def boot(self, *numbers):
        for number in numbers:
            name, mac, queues = (("A", A, 1), ("B", B, 2))[number]
            folder = self.folder / name
            folder.mkdir(exist_ok=True)
            card = vhost_user(self.folder / f"{name}.sock", mac, f",host_mtu={MTU}", queues,
                              self.make_sockets)
            guest = Guest(folder, memory=256, hugepages=0, shared=True, reboot=True,
                          cpus=queues, devices=card)
            self.stack.callback(guest.stop)
            self.guests[number] = guest
        for number in numbers:
            self.set_up(number)

    def set_up(self, number):
        self.guests[number].check(f"ip link set eth0 up && "
                                  f"ip addr add 10.0.0.{number + 1}/24 dev eth0")

    def ping(self, *options, deadline=60):
        """How many of 5 pings, or of those until the deadline, are answered."""
        self.switch.read()
        said = self.guests[0].run("ping", "-c5", "-i0.2", "-w", deadline, *options,
                                  "10.0.0.2").stdout
        return int(re.search(r"(\d+) received", said).group(1))


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    guest_image.require()
    with contextlib.ExitStack() as stack:
        machines = Machines(tmp_path_factory.mktemp("nfv"), stack)
        machines.start_switch()
        machines.boot(0, 1)
        yield machines


def test_one_vlan_and_two(machines):
    """Guests of one VLAN see each other, and those of two don't."""
    assert machines.ping() == 5
    machines.change(*ports(43))
    assert machines.ping(deadline=5) == 0
    machines.change(*ports())
    assert machines.ping() == 5


def test_jumbo_frames_and_tcp(machines):
    """The MTU that QEMU tells the guests; TCP with the offloads that were agreed on."""
    assert machines.ping("-Mdo", "-s", MTU - 28) == 5
    there, here = machines.guests[1], machines.guests[0]
    there.check("sleep 9999 | busybox nc -l -p 5000 | sha256sum >/tmp/sum &")
    wait_until(lambda: ":5000" in there.check("ss -ltn"), "nc")
    size = 50 << 20 if LONG else 2 << 20
    sent = here.check(f"head -c {size} /dev/urandom >/tmp/data; sha256sum </tmp/data; "
                      "busybox nc 10.0.0.2 5000 </tmp/data", timeout=300)
    wait_until(lambda: there.check("cat /tmp/sum") == sent, "what was sent")


def packets(guest, name):
    """What the kernel counted of a guest's card; 0 of a queue that isn't used."""
    found = re.search(rf"\b{name}: (\d+)", guest.check("ethtool", "-S", "eth0"))
    return int(found.group(1)) if found else 0


def test_both_queues_are_used(machines):
    """Those that the guest is told to use, and no other, while it runs."""
    here, there = machines.guests
    send = f"for p in $(seq {FLOWS}); do echo >/dev/udp/10.0.0.%d/$((5000 + p)); done"
    for queues in 2, 1, 2:
        there.check("ethtool", "-L", "eth0", "combined", queues)
        before = [packets(there, f"rx_queue_{q}_packets") for q in (0, 1)]
        here.check("bash", "-c", send % 2)
        wait_until(lambda: sum(packets(there, f"rx_queue_{q}_packets") for q in (0, 1))
                   >= sum(before) + FLOWS, "all flows")
        assert (packets(there, "rx_queue_1_packets") > before[1]) == (queues == 2)
    for cpu in 0, 1:
        sent = packets(there, f"tx_queue_{cpu}_packets")
        came = packets(here, "rx_queue_0_packets")
        there.check("taskset", "-c", cpu, "bash", "-c", send % 1)
        assert packets(there, f"tx_queue_{cpu}_packets") >= sent + FLOWS
        wait_until(lambda least=came + FLOWS: packets(here, "rx_queue_0_packets") >= least,
                   "what it sent")


def test_the_switch_is_killed_and_guests_reboot(machines):
    """A new switch takes the dead one's sockets, and QEMU connects to it again."""
    machines.switch.process.kill()
    machines.switch.finish()
    machines.start_switch()
    assert machines.ping() == 5
    assert machines.switch.interrupt() == 0, machines.switch.said
    machines.start_switch()
    assert machines.ping() == 5
    for _ in range(REBOOTS):
        machines.guests[1].reboot()
        machines.set_up(1)
        assert machines.ping() == 5


@pytest.mark.skipif(not LONG, reason="PERIGEE_LONG=1 (make test-guests) runs it")
def test_qemu_makes_the_sockets(tmp_path):
    """As with Snabb's: guests wait for the switch, the switch for guests that come
    again."""
    guest_image.require()
    with contextlib.ExitStack() as stack:
        machines = Machines(tmp_path, stack, make_sockets=True)
        machines.start_switch()
        machines.boot(0, 1)
        assert machines.ping() == 5
        machines.switch.process.kill()
        machines.switch.finish()
        machines.start_switch()
        assert machines.ping() == 5
        machines.guests[1].stop()
        machines.boot(1)
        assert machines.ping() == 5
        assert machines.switch.interrupt() == 0, machines.switch.said
