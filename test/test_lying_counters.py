# SPDX-License-Identifier: Apache-2.0
"""Shared memory of another process that lies: files that are cut while they are read, of
other lengths and contents than their names say, and names that nobody would give. Who looks
in (`top`, `ps`, `shm`, `metrics`) says what is left, or a sentence, and ends by itself."""

import contextlib
import os
import random
import shutil
import socket
import threading

import pytest

from helpers.command import PERIGEE, run, running
from helpers.control import graph

SEED = 37
CONTENTS = [b"", b"\xff", b"\xff" * 7, b"\xff" * 8, b"\0" * 16, b"\xff" * 4096, b"\x7f" * 65536]
NAMES = ["%s%d.counter", "no extension", ".counter", "a" * 200 + ".counter", "a.unheard-of",
         "\x1b[31mred\n.counter", "\xe9.counter".encode("latin-1"), "links", "apps.counter"]
LOOKS = [["top", "--once", "-i", "0.05"], ["top", "--once", "--json", "-i", "0.05"],
         ["ps"], ["shm"], ["shm", "--json"], ["metrics"]]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a real process shows, as it was at one time."""
    folder = tmp_path_factory.mktemp("shown")
    environment = {**os.environ, "SNABB_SHM_ROOT": str(folder / "root")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNABB_SHM_ROOT", environment["SNABB_SHM_ROOT"])
        with graph(folder, "shown") as process:
            shutil.copytree(folder / "root" / str(process.pid), folder / "copy", symlinks=True,
                            ignore=lambda _, names: [n for n in names if n.endswith("socket")])
    (folder / "copy" / ".owner").unlink(missing_ok=True)
    return folder / "copy"


@contextlib.contextmanager
def instance(tmp_path, shown):
    """A folder of a process that runs, and is none of ours."""
    with running("sleep", "1000") as other:
        folder = tmp_path / "root" / str(other.pid)
        shutil.copytree(shown, folder, symlinks=True)
        yield folder


def look(folder):
    """Each way to look in; what they said, if they end as they should."""
    said = {}
    for words in LOOKS:
        asked = [] if words[0] in ("ps", "metrics") else [folder.name]
        result = run(PERIGEE, *words, *asked,
                     env={**os.environ, "SNABB_SHM_ROOT": str(folder.parent)}, timeout=120,
                     text=False)
        text = result.stdout + result.stderr
        assert result.returncode in (0, 1, 2), (words, result.returncode, text)
        assert b"traceback" not in text and b"attempt to" not in text, (words, text)
        assert b"\x1b" not in text, (words, text)
        if result.returncode:
            assert len(result.stderr.splitlines()) == 1, (words, text)
        said[" ".join(words)] = result
    return said


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def test_what_is_true(tmp_path, shown):
    """(So that the others test something.)"""
    with instance(tmp_path, shown) as folder:
        said = look(folder)
        assert all(result.returncode == 0 for result in said.values()), said
        assert b"source.output" in said["top --once -i 0.05"].stdout, said
        assert b"rxpackets" in said["shm"].stdout, said


@pytest.mark.parametrize("content", CONTENTS, ids=lambda c: f"{len(c)} of {c[:1]!r}")
def test_files_of_other_contents(tmp_path, shown, content):
    with instance(tmp_path, shown) as folder:
        for file in files(folder):
            file.write_bytes(content)
        look(folder)


@pytest.mark.parametrize("turn", range(4))
def test_files_that_are_none(tmp_path, shown, turn):
    """Sparse ones of a terabyte, pipes that nobody writes to, links to what has no end."""
    with instance(tmp_path, shown) as folder:
        for i, file in enumerate(files(folder), turn):
            if i % 4 == 0:
                os.truncate(file, 1 << 40)
                continue
            file.unlink()
            if i % 4 == 1:
                os.mkfifo(file)
            elif i % 4 == 2:
                file.symlink_to("/dev/zero")
            else:
                file.mkdir()
        look(folder)


def test_names_that_nobody_gives(tmp_path, shown):
    with instance(tmp_path, shown) as folder:
        for place in [folder, *[path for path in folder.rglob("*") if path.is_dir()]]:
            for name in NAMES:
                path = os.path.join(os.fsencode(place), os.fsencode(name))
                if not os.path.lexists(path):
                    with open(path, "wb") as file:
                        file.write(b"\1" * 8)
        for name in "\x1b[31mred -> x", "->", "a->", "->a", "a->b->c", "%n":
            (folder / "links" / name).mkdir(parents=True)
            (folder / "links" / name / "rxpackets.counter").write_bytes(b"\1" * 8)
        look(folder)


def test_files_that_change_while_they_are_read(tmp_path, shown):
    dice, over, changes = random.Random(SEED), threading.Event(), [0]

    def change(paths):
        while not over.is_set():
            with contextlib.suppress(OSError):
                path = dice.choice(paths)
                if dice.random() < 0.5:
                    os.truncate(path, dice.choice([0, 1, 7, 8, 4096, 1 << 30]))
                else:
                    path.unlink()
                    path.write_bytes(dice.choice(CONTENTS))
                changes[0] += 1
    with instance(tmp_path, shown) as folder:
        liar = threading.Thread(target=change, args=[files(folder)])
        liar.start()
        try:
            for _ in range(5):
                before = changes[0]
                look(folder)
                assert changes[0] > before
        finally:
            over.set()
            liar.join()


def test_a_control_socket_that_never_answers(tmp_path, shown):
    """Nor is one there that answers nonsense."""
    for nonsense in None, b"\xff" * 100_000, b'{"a":' * 100_000 + b"\n", b"{}\n" * 1000:
        with instance(tmp_path / str(nonsense)[:4], shown) as folder, \
                socket.socket(socket.AF_UNIX) as listener:
            here = os.getcwd()
            os.chdir(folder)
            try:
                listener.bind("control.socket")
            finally:
                os.chdir(here)
            listener.listen()

            def answer(listener=listener, nonsense=nonsense):
                with contextlib.suppress(OSError):
                    while True:
                        peer, _ = listener.accept()
                        if nonsense is not None:
                            with contextlib.suppress(OSError):
                                peer.sendall(nonsense)
                            peer.close()
            thread = threading.Thread(target=answer, daemon=True)
            thread.start()
            look(folder)
            listener.shutdown(socket.SHUT_RDWR)
