# SPDX-License-Identifier: Apache-2.0
"""Open vSwitch with DPDK: a flow that sends a port's packets back to it."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

from peers import process
from suite import measure

NAME = "OvS"
HOW = ("apt install openvswitch-switch-dpdk, or DIR/ovs with Debian's packages "
       "openvswitch-common, -switch and -switch-dpdk unpacked by dpkg -x")
DAEMON = "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
INSTALLED = pathlib.Path("/")
BURST = 32  # NETDEV_MAX_BURST


def find(folder):
    for root in (folder / "ovs" if folder else None, INSTALLED):
        if root and (root / DAEMON).is_file() and (root / "usr/bin/ovs-vsctl").is_file():
            return Ovs(root)
    return None


class Ovs:
    works = {"ports": (BURST,)}

    def __init__(self, root):
        self.usr, self.daemon = root / "usr", root / DAEMON

    def cycles(self, _work, _burst, seconds):
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            env = {**os.environ, **{"OVS_%sDIR" % name: folder for name in
                                    ("RUN", "DB", "LOG", "SYSCONF")}}
            return self.measured(stack, pathlib.Path(folder), env, seconds)

    def measured(self, stack, folder, env, seconds):
        database, control = folder / "conf.db", folder / "control"
        bridge = folder / "br.mgmt"

        def command(*words):
            return measure.command(words, process.PATIENCE_S, env=env)

        def start(*words):
            return stack.enter_context(process.running(words, env=env))

        command(self.usr / "bin/ovsdb-tool", "create", database,
                self.usr / "share/openvswitch/vswitch.ovsschema")
        server = start(self.usr / "sbin/ovsdb-server", database,
                       "--remote=punix:%s/db" % folder, "--unixctl=%s/db.ctl" % folder)
        process.wait_for((folder / "db").exists, server, "ovsdb-server")
        for words in self.configuration():
            command(self.usr / "bin/ovs-vsctl", "--no-wait", "--db=unix:%s/db" % folder,
                    *words)
        switch = start(self.daemon, "unix:%s/db" % folder, "--unixctl=%s" % control)
        process.wait_for(bridge.exists, switch, "ovs-vswitchd")
        command(self.usr / "bin/ovs-ofctl", "add-flow", bridge,
                "in_port=1,actions=in_port")

        def appctl(*words):
            try:
                return command(self.usr / "bin/ovs-appctl", "-t", control, *words)
            except (measure.Failed, subprocess.TimeoutExpired):
                return ""  # it isn't there yet, or busy

        # The packets that came before the flow were dropped by one of their own.
        process.wait_for(lambda: re.search(r"in_port\(.*actions:\d",
                                           appctl("dpctl/dump-flows")), switch, NAME)

        def received():
            text = appctl("dpif-netdev/pmd-stats-show")
            return sum(map(int, re.findall(r"packets received: (\d+)", text)))

        return process.cycles(switch, received, seconds)

    @staticmethod
    def configuration():
        """What ovs-vsctl is asked for, one call each."""
        cpu = max(os.sched_getaffinity(0))
        device, = (word for word in process.eal_arguments() if word.startswith("--vdev="))
        options = ["-l", str(cpu), *process.eal_arguments(0)]
        return [
            ["init"],
            ["set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
             'other_config:dpdk-extra="%s"' % " ".join(options),
             "other_config:pmd-cpu-mask=%x" % (1 << cpu)],
            ["add-br", "br", "--", "set", "bridge", "br", "datapath_type=netdev",
             "fail-mode=secure"],
            ["add-port", "br", "p", "--", "set", "interface", "p", "type=dpdk",
             "ofport_request=1", "options:dpdk-devargs=" + device.removeprefix("--vdev=")]]
