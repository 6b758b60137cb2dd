# SPDX-License-Identifier: Apache-2.0
"""libmoon's functions that get wrong arguments: sentences, no errors of LuaJIT's own."""

import re

from helpers.command import ROOT, perigee


def test_wrong_arguments_are_answered_by_sentences(tmp_path):
    result = perigee("moongen", "--port", "0=null", "--port", "1=null",
                     ROOT / "test/moongen/wrong_arguments.lua",
                     cwd=tmp_path)  # files are named by wrong values, too
    wrong = [line for line in result.stdout.splitlines() if line.startswith("RAW")]
    assert not wrong, "\n".join(wrong[:20])
    tried = re.search(r"tried (\d+), raw 0", result.stdout)
    assert tried and int(tried[1]) > 1500, result.stdout[-500:] + result.stderr[-2000:]
