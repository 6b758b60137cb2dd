# SPDX-License-Identifier: Apache-2.0
"""Why tests of FastClick's fail here: reasons.txt, a line "folder/name: reason" each; which
of Click's own fail beyond those: original_reasons.txt; and why configurations of FastClick's
conf folder don't run: conf_reasons.txt, the same."""

import pathlib

FILE = pathlib.Path(__file__).parent / "reasons.txt"
ORIGINAL_FILE = FILE.with_name("original_reasons.txt")
CONF_FILE = FILE.with_name("conf_reasons.txt")
COUNTS_FILE = FILE.with_name("counts.txt")

HEADING = """\
# FastClick's own tests

`make clicktests FASTCLICK=DIR` runs the tests of a checkout of
[FastClick](https://github.com/tbarbette/fastclick) on Perigee, by FastClick's own runner,
and

    $ tools/clicktests --help > /dev/null

says more; with `--page` it writes this page. A run prints how many tests of each folder
passed. Tests are skipped by FastClick's own rule: where a build of FastClick without DPDK
and kernel modules skips them, and not because an element isn't here. A few that depend on the
clock get more time (tools/click/patience.txt).

{counts}
It fails unless exactly these fail:
"""

ORIGINAL_HEADING = """
## Click's own tests

    tools/clicktests --original DIR

runs those of a checkout of [Click](https://github.com/kohler/click). Most are FastClick's,
too. Of those that expect something else there, these fail:

| fails | why |
|---|---|
"""

CONF_HEADING = """
## FastClick's configurations

    tools/clickconf DIR/conf --known

runs the configurations of FastClick's conf folder, as they are, with null ports in the
place of devices. These don't run; all others do:

| configuration | why not |
|---|---|
"""


def read(file=None):
    """{folder/name: reason}."""
    file, known = file or FILE, {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        name, colon, reason = line.partition(": ")
        if not colon or name in known:
            raise ValueError(f"{file.name}:{number}: not 'folder/name: reason', or twice")
        known[name] = reason
    return known


def conf_problems(failing, names):
    """What is wrong with conf_reasons.txt, if of the configurations `names` those in
    `failing` don't run."""
    known = read(CONF_FILE)
    for name in names:
        if name in failing and name not in known:
            yield f"{name} doesn't run, and tools/click/{CONF_FILE.name} doesn't say why"
        elif name not in failing and name in known:
            yield f"{name} runs: tools/click/{CONF_FILE.name} says that it doesn't"


def conf_table():
    """The configurations that don't run, for the page."""
    known = read(CONF_FILE)
    return CONF_HEADING + "".join(f"| {name} | {known[name]} |\n" for name in sorted(known))


def original_table():
    """Which of Click's own tests fail beyond FastClick's, for the page."""
    known = read(ORIGINAL_FILE)
    return ORIGINAL_HEADING + "".join(f"| {name} | {known[name]} |\n"
                                      for name in sorted(known))


def problems(results, complete=True, original=False):
    """What is wrong with the reasons, beside these {name: pass, fail or skip}, of Click
    (`original`) or FastClick."""
    known = read()
    needed = known
    if original:
        needed = read(ORIGINAL_FILE)
        known.update(needed)
    for name, result in results.items():
        if result == "fail" and name not in known:
            yield f"{name} fails, and tools/click/reasons.txt doesn't say why"
        elif result == "pass" and name in known:
            yield f"{name} passes: tools/click/reasons.txt says that it fails"
    for name in needed:
        if complete and name not in results:
            yield f"tools/click/reasons.txt: there is no test {name}"


def table():
    """What fails, for the page."""
    known = read()
    rows = [f"| {name} | {known[name]} |" for name in sorted(known)]
    return "\n".join(["", "| fails | why |", "|---|---|", *rows]) + "\n"


def page():
    """doc/click-tests.md."""
    counts = "".join(f"    {line}\n" for line in COUNTS_FILE.read_text().splitlines())
    return HEADING.format(counts=counts) + table() + original_table() + conf_table()
