# SPDX-License-Identifier: Apache-2.0
"""`make version` and `make release`, in a copy of the tree that is a repository of its own."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

import pytest

from helpers.command import ROOT, check, run

sys.path.insert(0, str(ROOT / "tools" / "release"))
import versions  # noqa: E402

VERSION = "9.8.7"
EMPTY = {name: "" for name in ("KEY", "TESTED", "SUITES", "DRY")}
ENV = {**{name: value for name, value in os.environ.items() if name not in EMPTY},
       "PARTS": "tarball",
       **{f"GIT_{who}_{what}": text for who in ("AUTHOR", "COMMITTER")
          for what, text in (("NAME", "A Maintainer"), ("EMAIL", "maintainer@example.org"))},
       "GIT_CONFIG_GLOBAL": "/dev/null"}


def make(tree, what, version=VERSION, **environment):
    """What `make WHAT VERSION=` calls."""
    return run(tree / "tools/release/make", what, version, env={**ENV, **environment})


def git(tree, *words):
    return check("git", "-C", tree, *words, env=ENV).strip()


def commit(tree):
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "--no-verify", "-m", "release: it")
    return git(tree, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    """This tree as it is, with the version set but not committed."""
    tree = tmp_path_factory.mktemp("release") / "tree"
    tree.mkdir()
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True,
                           capture_output=True).stdout
    subprocess.run(["xargs", "-0", "cp", "--parents", "-t", tree], check=False, input=names,
                   cwd=ROOT, stderr=subprocess.DEVNULL)  # what was deleted isn't there
    changelog = tree / versions.CHANGELOG
    text = changelog.read_text()
    if not versions.heading(tree).startswith("Since "):  # a release is being made
        changelog.write_text(text.replace("\n## ", "\n## Since it\n\n- More.\n\n## ", 1))
    git(tree, "init", "-q", "-b", "main")
    commit(tree)
    result = run("make", "-s", "-C", tree, "version", f"VERSION={VERSION}", env=ENV)
    assert result.returncode == 0, result.stderr
    assert f"version {VERSION}, from {versions.current()}:" in result.stdout
    return tree


@pytest.fixture
def tree(pristine, tmp_path):
    copy = tmp_path / "tree"
    check("cp", "-a", pristine, copy)
    return copy


@pytest.mark.fast
def test_the_version_is_the_same_everywhere():
    assert versions.different() == []


def test_a_version_is_written_everywhere(pristine):
    assert versions.different(pristine) == [] and versions.current(pristine) == VERSION
    day = versions.utc_now().date().isoformat()
    head, debian_day = versions.heading(pristine), versions.debian_head(pristine)[1]
    assert head == f"{VERSION} ({debian_day})" and debian_day <= day
    changed = git(pristine, "diff", "--stat", "--name-only").split()
    assert {"Makefile", versions.CHANGELOG, versions.DEBIAN} < set(changed)
    for line in git(pristine, "diff", "-U0").splitlines():
        if line.startswith("+") and not line.startswith("+++") and "--" not in line:
            assert VERSION in line or line in ("+", "+  * See CHANGELOG.md."), line


def test_a_release(tree):
    """Twice the same; signed by a key that is made here, and tagged."""
    head = commit(tree)
    sums = []
    for _ in range(2):
        result = make(tree, "release", TESTED=head[:10], DRY="1")
        assert result.returncode == 0, result.stderr
        assert "unsigned (KEY= signs it), not tagged (DRY)" in result.stdout
        sums.append((tree / f"build/release/{VERSION}/SHA256SUMS").read_text())
    assert sums[0] == sums[1] and f"perigee-{VERSION}.tar.gz" in sums[0]
    assert git(tree, "tag") == ""
    home = tempfile.mkdtemp(prefix="gpg")  # its sockets want a short path
    try:
        gpg = {**ENV, "GNUPGHOME": home}
        check("gpg", "--batch", "--passphrase", "", "--quick-gen-key",
              "maintainer@example.org", "ed25519", "sign", env=gpg)
        result = make(tree, "release", TESTED=head, KEY="maintainer@example.org",
                      GNUPGHOME=home)
        assert result.returncode == 0, result.stderr
        assert f"signed by maintainer@example.org, tagged v{VERSION}: " in result.stdout
        out = tree / "build/release" / VERSION
        assert {path.name for path in out.iterdir()} == {
            f"perigee-{VERSION}.tar.gz", "SHA256SUMS", "SHA256SUMS.asc"}
        check("gpg", "--verify", out / "SHA256SUMS.asc", out / "SHA256SUMS", env=gpg)
        check("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=out)
        check("git", "-C", tree, "verify-tag", f"v{VERSION}", env=gpg)
    finally:
        run("gpgconf", "--homedir", home, "--kill", "all")
        shutil.rmtree(home)
    assert git(tree, "rev-parse", f"v{VERSION}^{{commit}}") == head
    with tarfile.open(out / f"perigee-{VERSION}.tar.gz") as tar:
        names = {member.name for member in tar if member.isfile()}
        assert {member.uid for member in tar} == {0}
    assert names == {f"perigee-{VERSION}/{name}" for name in git(tree, "ls-files").split("\n")}
    again = make(tree, "release", TESTED=head)
    assert again.returncode == 1 and f"there is a tag v{VERSION}" in again.stderr


def write_result(tree, **changes):
    path = tree / "build/test/result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"commit": git(tree, "rev-parse", "HEAD"), "fast": False,
                                "changed": False, "passed": True, **changes}))


def test_what_a_release_wants(tree):
    """Each thing that is wrong is a sentence, and nothing is made."""
    def refused(sentence, **environment):
        result = make(tree, "release", **environment)
        assert result.returncode == 1 and sentence in result.stderr, result
        assert not list((tree / "build").glob(f"release/*{VERSION}*"))

    refused("the tree isn't as it was committed: M")
    head = commit(tree)
    refused("there is no result of the tests")
    refused("TESTED=0000000000 isn't this commit", TESTED="0" * 10)
    refused(f"TESTED={head[:3]} isn't this commit", TESTED=head[:3])
    write_result(tree, passed=False)
    refused("the last tests had failed")
    write_result(tree, fast=True)
    refused("the last tests were the fast ones alone")
    write_result(tree, changed=True)
    refused("the last tests were run with changes")
    write_result(tree, commit="0" * 40)
    refused("the tests were run at 0000000000")
    write_result(tree)
    refused("PARTS has 'cake', and may have tarball", PARTS="cake")
    refused("this failed: gpg", KEY="nobody@example.org", GNUPGHOME="/nonexistent")
    assert git(tree, "tag") == ""
    git(tree, "checkout", "-q", "-b", "other")
    refused("releases are made on main, this is other")
    git(tree, "checkout", "-q", "main")
    (tree / "new.txt").touch()
    refused("the tree isn't as it was committed: ?? new.txt")
    (tree / "new.txt").unlink()
    changelog = tree / versions.CHANGELOG
    changelog.write_text(changelog.read_text().replace(f"## {VERSION} (", "## Since ("))
    commit(tree)
    refused("newest heading is 'Since (")
    for version, sentence in (("1.0", "MAJOR.MINOR.PATCH"), ("1.2.3", "the Makefile says")):
        result = make(tree, "release", version)
        assert result.returncode == 1 and sentence in result.stderr
    result = make(tree, "version", "9.8.6")
    assert result.returncode == 1 and f"VERSION=9.8.6 isn't above {VERSION}" in result.stderr
    result = run("make", "-s", "-C", tree, "release", env=ENV)
    assert result.returncode == 2 and "make release VERSION=X.Y.Z" in result.stderr
