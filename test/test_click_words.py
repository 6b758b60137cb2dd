# SPDX-License-Identifier: Apache-2.0
"""What `click` says on its command line is in Click's words, with its exit status."""

import pytest

from helpers.command import perigee


@pytest.mark.parametrize("handler, said", [
    ("c.foo", "no 'c.foo' handler"), ("c.reset", "'c.reset' is a write handler"),
    ("stop", "'stop' is a write handler"), ("foo", "no 'foo' handler"),
    ("c", "no 'c' handler"), ("c.", "no 'c.' handler"), ("", "no '' handler"),
    ("x.count", "no element 'x'"),
])
def test_a_handler_that_cant_be_read_is_told_in_clicks_words(handler, said):
    result = perigee("click", "-e", "Idle -> c :: Counter -> Discard; Script(stop)",
                     "-h", handler)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", said + "\n")


def test_a_folder_is_no_summary_dump(tmp_path):
    for text in ("FromIPSummaryDump", "FromTcpdump"):
        result = perigee("click", "-q", "-e", f"{text}({tmp_path}) -> Discard")
        assert result.returncode == 1
        assert f"{tmp_path}: Is a directory" in result.stderr
