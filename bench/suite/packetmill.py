# SPDX-License-Identifier: Apache-2.0
"""FastClick's program for one configuration, by PacketMill's source passes

Calls between elements become direct ones, arguments constants, elements static objects
(click-devirtualize --inline --replace --static, README.packetmill.md of FastClick).

With PACKETMILL=1, and FASTCLICK_BIN in a built checkout that has its tools
(`make -C tools; make share/click/elementmap.xml`). Its folder userlevel is worked in.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

from suite import fastclick, measure

PATIENCE_S = 600
# Objects may be moved at random by another pass; not here.
NO_OFFSETS = {"CLICK_ELEM_RAND_SEED": "0", "CLICK_ELEM_RAND_MAX": "0"}


def wanted():
    """Is PacketMill to be measured? Failed if what it needs isn't there."""
    if os.environ.get("PACKETMILL", "0") in ("", "0"):
        return False
    if not fastclick.binary():
        raise measure.Failed("PACKETMILL needs FASTCLICK_BIN, FastClick's program click "
                             "in its built checkout")
    for name in ("bin/click-devirtualize", "bin/click-mkmindriver",
                 "share/click/elementmap.xml"):
        if not (checkout() / name).exists():
            raise measure.Failed(
                "PACKETMILL: %s has no %s: in that folder, run make -C tools and "
                "make share/click/elementmap.xml" % (checkout(), name))
    return True


def checkout():
    return pathlib.Path(fastclick.binary()).resolve().parents[1]


def step(arguments, folder, output=os.devnull, fine=(0,)):
    """Run one of FastClick's tools in the folder, its standard output into a file.
    Failed with its last words if it ends with a status that isn't fine; all of them are
    in a file then."""
    environment = {**os.environ, **NO_OFFSETS, "CLICKPATH": "%s:%s" % (
        checkout() / "share/click", checkout())}
    with open(output, "wb") as file:
        done = subprocess.run([str(a) for a in arguments], cwd=folder, stdout=file,
                              stderr=subprocess.PIPE, env=environment,
                              timeout=PATIENCE_S, check=False)
    if done.returncode not in fine:
        words = measure.ROOT / "build/bench/packetmill/errors"
        words.write_bytes(done.stderr)
        raise measure.Failed("PacketMill: %s ended with status %d: %s (%s has the rest)" % (
            " ".join(map(str, arguments)), done.returncode,
            fastclick.last_line(done.stderr.decode(errors="replace")), words))


def compiler():
    """That of the checkout, without access control: the passes move members about."""
    text = (checkout() / "userlevel/Makefile").read_text()
    return re.search(r"^CXX\s*:?=\s*(.+)$", text, re.M).group(1) + " -fno-access-control"


def make(text, folder):
    (folder / "in.click").write_text(text)
    tools, package = checkout() / "bin", folder / "package.uo"
    step([tools / "click-devirtualize", "--inline", "--replace", "--static",
          folder / "in.click"], folder, package)
    step(["ar", "x", package, "config"], folder)
    userlevel = checkout() / "userlevel"
    step(["make", "clean-embed"], userlevel)
    # It ends with 1 where classes are there twice, which is so for all of these.
    step([tools / "click-mkmindriver", "-C", checkout(), "-p", "embed", "--ship", "-u",
          package], userlevel, fine=(0, 1))
    step(["make", "embedclick", "MINDRIVER=embed", "STATIC=1", "CXX=" + compiler()],
         userlevel)
    config = folder / "config"
    lines = config.read_text().splitlines(keepends=True)
    config.write_text("".join(line for line in lines
                              if not line.startswith("require(package")))
    shutil.copy(userlevel / "embedclick", folder / "click") # last: then all is there


def program(text):
    """The program for the configuration, and the file with that as it knows it."""
    name = hashlib.sha256((str(checkout()) + text).encode()).hexdigest()[:16]
    folder = measure.ROOT / "build" / "bench" / "packetmill" / name
    if not (folder / "click").exists():
        folder.mkdir(parents=True, exist_ok=True)
        make(text, folder)
    return folder / "click", folder / "config"


def can_make(text):
    """Make the program before it is measured; why that can't be done is told."""
    try:
        program(text)
    except (measure.Failed, OSError, subprocess.TimeoutExpired) as failed:
        print(failed, file=sys.stderr)
        return False
    return True
