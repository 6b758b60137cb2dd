# SPDX-License-Identifier: Apache-2.0
"""doc/promises.md: what test/promised.json names is there. Names are added to it by
`python3 test/test_promises.py`, which takes none away."""

import json
import pathlib
import re
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from helpers.command import ROOT, perigee

FILE = ROOT / "test/promised.json"
PAGE = (ROOT / "doc/promises.md").read_text()


def options_of(*words):
    text = perigee(*words, "--help").stdout
    return sorted(set(re.findall(r"^ {1,6}(?:-\w, )?(--[\w-]+)", text, re.M)))


def requests():
    """Those of the control socket, as its page lists them: rows of `request` | answer."""
    page = (ROOT / "doc/control.md").read_text()
    table = page.partition("| request | answer |\n")[2].partition("\n\n")[0]
    return sorted({name for row in table.splitlines()[1:]
                   for name in re.findall(r"`([\w-]+)`", row.split("|")[1])})


def metrics():
    page = (ROOT / "doc/metrics.md").read_text().partition("## Names")[2]
    return sorted(set(re.findall(r"^\| `(perigee_\w+)", page, re.M)))


def there_are():
    programs = [line.split()[0] for line in
                perigee("--help").stdout.partition("Programs:\n")[2].splitlines()]
    found = perigee("run", ROOT / "test/promised.lua")
    assert found.returncode == 0, found.stderr
    return {"options": {"perigee": options_of()} | {name: options_of(name)
                                                    for name in programs},
            "functions": sorted(found.stdout.split()),
            "requests": requests(), "metrics": metrics()}


def names(promised):
    """All of them, each as one text."""
    return {f"{program} {option}" for program, options in promised["options"].items()
            for option in ["", *options]} \
        | {f"{kind} {name}" for kind in ("functions", "requests", "metrics")
           for name in promised[kind]}


def test_what_is_promised_is_there():
    promised = json.loads(FILE.read_text())
    assert len(promised["options"]) > 40 and len(promised["functions"]) > 80
    assert len(promised["requests"]) >= 10 and len(promised["metrics"]) > 20
    gone = names(promised) - names(there_are())
    assert not gone, f"promised, and gone (doc/promises.md says how names go): {sorted(gone)}"


def in_source(folder, pattern):
    """Does a module below the folder match?"""
    return any(re.search(pattern, file.read_text()) for file in (ROOT / folder).rglob("*.lua")
               if not file.name.endswith("_spec.lua"))


def test_the_pages_list_what_the_source_has():
    """So that what was taken out of both is found, too: promised.json has it still."""
    missing = [name for name in requests()
               if not in_source("src", rf"\b(commands|server)\.{name}\b|\b{name} = ")]
    missing += [name for name in metrics()
                if not in_source("src/lib/observe", rf'"{name}(_info)?"')]
    assert missing == []


def test_the_warning_is_as_the_page_shows_it(tmp_path):
    shown = re.search(r"^ +(perigee: .* is deprecated, .*)$", PAGE, re.M)[1]
    file = tmp_path / "old.lua"
    file.write_text('local d = require("core.lib.deprecated")\n'
                    'local old = d.wrap(function (x) return x end, "engine.old()",\n'
                    '  "engine.new()", "2.0")\nprint(old(1) + old(2))\n')
    result = perigee("run", file)
    assert (result.returncode, result.stdout, result.stderr) == (0, "3\n", shown + "\n")
    result = perigee("--log-format", "json", "run", file)
    said = json.loads(result.stderr)
    assert said["level"] == "warning" and shown.endswith(said["message"])


def main():
    """Adds what is new."""
    old, new = json.loads(FILE.read_text()) if FILE.exists() else {}, there_are()
    for kind in "functions", "requests", "metrics":
        new[kind] = sorted(set(new[kind]) | set(old.get(kind, [])))
    for program, options in old.get("options", {}).items():
        new["options"][program] = sorted(set(options) | set(new["options"].get(program, [])))
    FILE.write_text(json.dumps(new, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
