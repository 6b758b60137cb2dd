# SPDX-License-Identifier: Apache-2.0
"""VPP: l2patch between two null ports, by its main thread."""
import os
import pathlib
import re
import shutil
import tempfile

from peers import process
from suite import measure

NAME = "VPP"
HOW = ("fd.io's package vpp with vpp-plugin-dpdk, or DIR/vpp: a checkout of "
       "github.com/FDio/vpp after `make build-release`")
BUILT = "build-root/install-vpp-native/vpp/bin/vpp"
BURST = 256  # VLIB_FRAME_SIZE
BUFFERS = 16384
CONFIGURATION = """
unix {{ nodaemon nosyslog cli-listen {cli} runtime-dir {folder} }}
api-segment {{ prefix peer{pid} }}
cpu {{ main-core {cpu} }}
buffers {{ buffers-per-numa {buffers} }}
plugins {{ plugin default {{ disable }} plugin dpdk_plugin.so {{ enable }} }}
dpdk {{ no-pci {devices} }}
"""


def find(folder):
    for program in (folder and folder / "vpp" / BUILT, shutil.which("vpp")):
        if program and pathlib.Path(program).is_file():
            return Vpp(pathlib.Path(program))
    return None


class Vpp:
    works = {"ports": (BURST,)}

    def __init__(self, program):
        self.program, self.control = program, program.with_name("vppctl")

    def cycles(self, _work, _burst, seconds):
        with tempfile.TemporaryDirectory() as folder:
            cli = pathlib.Path(folder) / "cli"
            file = pathlib.Path(folder) / "startup.conf"
            file.write_text(CONFIGURATION.format(
                cli=cli, folder=folder, pid=os.getpid(), buffers=BUFFERS,
                cpu=max(os.sched_getaffinity(0)),
                devices=" ".join("vdev " + process.NULL % i for i in range(2))))

            def ask(*words):
                return measure.command([self.control, "-s", cli, *words],
                                       process.PATIENCE_S)

            with process.running([self.program, "-c", file]) as running:
                process.wait_for(cli.exists, running, NAME)
                first, second = interfaces(ask("show", "interface"))[:2]
                for name in first, second:
                    ask("set", "interface", "state", name, "up")
                ask("test", "l2patch", "rx", first, "tx", second)

                def received():
                    text = ask("show", "interface", first)
                    found = re.search(r"rx packets\s+(\d+)", text)
                    return int(found.group(1)) if found else 0

                return process.cycles(running, received, seconds)


def interfaces(text):
    """The ports' names in what `show interface` says."""
    names = [line.split()[0] for line in text.splitlines()[1:]
             if line[:1].strip() and not line.startswith("local")]
    if len(names) < 2:
        raise measure.Failed("VPP has no two null ports: " + text.strip())
    return names
