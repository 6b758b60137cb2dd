# SPDX-License-Identifier: Apache-2.0
"""The programs that FastClick's tests call, in a folder in build/: click and
Click's tools are Perigee, the others a few lines each."""

import os
import re
import subprocess
import sys

TOOLS = [f"click-{name}" for name in (
    "align", "check", "combine", "devirtualize", "fastclassifier", "flatten",
    "uncombine", "undead", "xform")]

NOT = '#!/bin/sh\n! "$@"\n'

# `click-buildtool provides [-i] WORD...`: are all of them here? -i was given for the
# installed ones. With ! before it, the word must not be.
BUILDTOOL = """#!/bin/sh
[ "$1" = provides ] || exit 2
shift
for word; do
  case $word in
  -*) ;;
  !*) ! grep -qxF -e "${word#!}" "$(dirname "$0")/words" || exit 1 ;;
  *) grep -qxF -e "$word" "$(dirname "$0")/words" || exit 1 ;;
  esac
done
"""

# As nc(1): HOST PORT; -l PORT, or -l -p PORT; -u for UDP.
NC = """#!{python}
import os, socket, sys, threading
words = [word for word in sys.argv[1:] if not word.startswith("-")]
flags = "".join(word[1:] for word in sys.argv[1:] if word.startswith("-"))
kind = socket.SOCK_DGRAM if "u" in flags else socket.SOCK_STREAM
end = socket.socket(socket.AF_INET, kind)
if "l" in flags:
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    end.bind(("", int(words[-1])))
    if kind == socket.SOCK_STREAM:
        end.listen()
        end = end.accept()[0]
else:
    end.connect((words[0], int(words[1])))

def send():
    try:
        while data := os.read(0, 65536):
            end.sendall(data)
        if kind == socket.SOCK_STREAM:
            end.shutdown(socket.SHUT_WR)
    except OSError:
        pass

sender = threading.Thread(target=send, daemon=True)
sender.start()
try:
    while data := end.recv(65536):
        os.write(1, data)
except OSError:
    pass
sender.join(1)  # what was to be said is said, though the other has ended
os._exit(0)
"""


# What FastClick's usual build has beside elements, "provides" asks for, and isn't here:
# tests that want it are run all the same, as there.
FASTCLICK_PACKAGES = "ctx flow hs nonatomicfp research test tunnel"
# What that build doesn't have; tests that want it are skipped there, too.
NOT_BUILT = {"dpdk", "linuxmodule"}
# Elements which need that.
NOT_BUILT_ELEMENTS = re.compile(r"ELEMENT_REQUIRES\(.*\b(?:bsdmodule|dpdk\w*|netmap|"
                                r"linuxmodule|flow-dynamic|ns)\b")
EXPORTED = re.compile(r"^EXPORT_ELEMENT\((\w+)", re.MULTILINE)


def fastclick_words(checkout):
    """What a build of FastClick without DPDK has, by its sources."""
    found = set(FASTCLICK_PACKAGES.split())
    for path in sorted((checkout / "elements").rglob("*.cc")):
        text = path.read_text(errors="replace")
        if not NOT_BUILT_ELEMENTS.search(text):
            found.update(EXPORTED.findall(text))
    return found


def words(root, checkout):
    """What require(package ...) knows, the classes of elements, and what FastClick has:
    by FastClick's own rule, a test is skipped where FastClick would skip it."""
    script = ('for name in pairs(require("click.language.requirements").PACKAGES) do '
              'print(name) end '
              'for _, name in ipairs(require("click.registry").names()) do print(name) end')
    path = root / "build/clicktests/words.lua"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    result = subprocess.run([root / "perigee", "run", path], text=True, check=True,
                            capture_output=True)
    found = set(result.stdout.split()) | fastclick_words(checkout)
    return "\n".join(sorted(found - NOT_BUILT)) + "\n"


def make(root, runner):
    """The folder, made anew; `runner` is the checkout's clicktest."""
    folder = root / "build/clicktests/bin"
    folder.mkdir(parents=True, exist_ok=True)
    for name, target in (("click", root / "perigee"), ("clicktest", runner),
                         *((name, root / "perigee") for name in TOOLS)):
        if os.path.lexists(folder / name):
            (folder / name).unlink()
        (folder / name).symlink_to(target)
    for name, text in (("not", NOT), ("click-buildtool", BUILDTOOL),
                       ("nc", NC.format(python=sys.executable))):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "words").write_text(words(root, runner.parent.parent))
    return folder
