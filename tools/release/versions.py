# SPDX-License-Identifier: Apache-2.0
"""Where the version is written. The Makefile's VERSION is it; the other places repeat it, and
`make version VERSION=X.Y.Z` sets all of them. test/test_release.py fails where they differ."""

import dataclasses
import datetime
import email.utils
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NUMBER = r"\d+(?:\.\d+){1,2}"
CHANGELOG = "CHANGELOG.md"
DEBIAN = "packaging/debian/changelog"

# Files, and what stands before and behind the version there.
PLACES = [
    ("Makefile", r"^VERSION := ", r"$"),
    ("contrib/python/pyproject.toml", r'^version = "', r'"$'),
    ("packaging/kubernetes/click.yaml", r"image: perigee:", r"$"),
    ("packaging/kubernetes/daemonset.yaml", r"image: perigee:", r"$"),
    ("packaging/helm/perigee/Chart.yaml", r'^appVersion: "', r'"$'),
    ("packaging/helm/perigee/Chart.yaml", r"^version: ", r"$"),
    ("packaging/fedora/perigee.spec", r"^Version: +", r"$"),
    ("SECURITY.md", r"the last release \(", r"\)"),
    ("doc/production.md", r"registry\.example/perigee:", r"(?= |$)"),
    ("doc/control.md", r'"program":"run","version":"', r'"'),
]


class Wrong(Exception):
    """A sentence for whoever makes a release."""


@dataclasses.dataclass
class Place:
    """A place in a file of the tree."""
    root: pathlib.Path
    name: str
    before: str
    behind: str

    def pattern(self):
        return re.compile(f"({self.before})({NUMBER})({self.behind})", re.M)

    def versions(self):
        text = (self.root / self.name).read_text()
        found = [match[2] for match in self.pattern().finditer(text)]
        if not found:
            raise Wrong(f"{self.name} has no version where one was "
                        "(tools/release/versions.py)")
        return found

    def write(self, version):
        path = self.root / self.name
        path.write_text(self.pattern().sub(rf"\g<1>{version}\g<3>", path.read_text()))


def places(root=ROOT):
    return [Place(root, *place) for place in PLACES]


def heading(root=ROOT):
    """The newest of CHANGELOG.md: its text behind ##, such as `1.0.0 (2026-12-01)`."""
    return re.search(r"^## (.*)$", (root / CHANGELOG).read_text(), re.M)[1]


def debian_head(root=ROOT):
    """The version and the day of the newest entry of Debian's changelog."""
    text = (root / DEBIAN).read_text()
    date = email.utils.parsedate_to_datetime(re.search(r"^ -- .*>  (.*)$", text, re.M)[1])
    return re.match(r"perigee \((.*?)\)", text)[1], date.date().isoformat()


def current(root=ROOT):
    """The Makefile's version."""
    return places(root)[0].versions()[0]


def padded(version):
    """MAJOR.MINOR.PATCH: charts have no shorter one."""
    return version + ".0" * (2 - version.count("."))


def different(root=ROOT):
    """Sentences: the places that don't have the Makefile's version."""
    version = current(root)
    found = [f"{place.name} says {said}, the Makefile {version}"
             for place in places(root) for said in place.versions()
             if padded(said) != padded(version)]
    if debian_head(root)[0] != version:
        found.append(f"{DEBIAN} says {debian_head(root)[0]}, the Makefile {version}")
    return found


def write(version, now, root=ROOT):
    """Set the version everywhere: `now` is a time with a zone. The newest heading of
    CHANGELOG.md, `Since ...`, becomes the version's."""
    if not heading(root).startswith("Since "):
        raise Wrong(f"{CHANGELOG}'s newest heading is '{heading(root)}', not 'Since "
                    f"{current(root)}': there is nothing to release")
    for place in places(root):
        place.versions()
    for place in places(root):
        place.write(version)
    path = root / CHANGELOG
    path.write_text(re.sub(r"^## .*$", f"## {version} ({now.date().isoformat()})",
                           path.read_text(), count=1, flags=re.M))
    path = root / DEBIAN
    path.write_text(f"perigee ({version}) unstable; urgency=medium\n\n"
                    "  * See CHANGELOG.md.\n\n -- The Perigee authors <perigee@localhost>  "
                    f"{email.utils.format_datetime(now)}\n\n" + path.read_text())


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
