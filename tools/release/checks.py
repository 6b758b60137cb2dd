# SPDX-License-Identifier: Apache-2.0
"""What must hold before a release is made."""

import json
import re
import subprocess

import versions
from versions import Wrong

RESULT = "build/test/result.json"


def git(root, *words):
    result = subprocess.run(["git", "-C", root, *words], check=False, text=True,
                            capture_output=True)
    if result.returncode:
        raise Wrong(f"git {words[0]}: {result.stderr.strip() or 'it failed'}")
    return result.stdout.strip()


def check_version(version):
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", version):
        raise Wrong(f"VERSION={version}: it is MAJOR.MINOR.PATCH, such as 1.0.0")


def check_tree(root):
    changed = git(root, "status", "--porcelain")
    if changed:
        raise Wrong(f"the tree isn't as it was committed: {changed.splitlines()[0].strip()}")
    branch = git(root, "rev-parse", "--abbrev-ref", "HEAD")
    if branch != "main":
        raise Wrong(f"releases are made on main, this is {branch}")


def check_tag(root, version):
    if git(root, "tag", "--list", f"v{version}"):
        raise Wrong(f"there is a tag v{version}: versions are released once")


def check_places(root, version):
    if versions.current(root) != version:
        raise Wrong(f"the Makefile says {versions.current(root)}: make version "
                    f"VERSION={version} sets it, then commit")
    for sentence in versions.different(root):
        raise Wrong(f"{sentence}: make version sets both")


def check_changelog(root, version):
    head, day = versions.heading(root), versions.debian_head(root)[1]
    if head != f"{version} ({day})":
        raise Wrong(f"{versions.CHANGELOG}'s newest heading is '{head}', not '{version} "
                    f"({day})', with the day of {versions.DEBIAN}")
    if day > versions.utc_now().date().isoformat():
        raise Wrong(f"{versions.CHANGELOG} says {day}, which is to come")


def check_tests(root, tested):
    """Have all tests passed at this commit: by the result that `make test` left, or as
    `tested`, the commit's name, says."""
    commit = git(root, "rev-parse", "HEAD")
    if tested:
        if len(tested) < 7 or not commit.startswith(tested):
            raise Wrong(f"TESTED={tested} isn't this commit, {commit[:10]}")
        return
    how = f"run make test, or say TESTED={commit[:10]} if they have passed elsewhere"
    try:
        result = json.loads((root / RESULT).read_text())
    except (OSError, ValueError):
        raise Wrong(f"there is no result of the tests ({RESULT}): {how}") from None
    if result["commit"] != commit:
        raise Wrong(f"the tests were run at {result['commit'][:10]}, this is "
                    f"{commit[:10]}: {how}")
    if result["fast"] or not result["passed"] or result["changed"]:
        why = "had failed" if not result["passed"] else "were the fast ones alone" \
            if result["fast"] else "were run with changes that weren't committed"
        raise Wrong(f"the last tests {why}: {how}")


def check_all(root, version, tested):
    check_version(version)
    check_tree(root)
    check_tag(root, version)
    check_places(root, version)
    check_changelog(root, version)
    check_tests(root, tested)
