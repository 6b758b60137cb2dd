# SPDX-License-Identifier: Apache-2.0
"""Files of all formats that Perigee reads, cut off and with changed bits: a share of
them; PERIGEE_LONG=1 for all (test/fuzz_files.py)."""

import os
import random

import pytest

import fuzz_files
from helpers.file_formats import formats

LONG = os.environ.get("PERIGEE_LONG")
FEW = 3


@pytest.mark.parametrize("name", formats())
def test_each_is_read_or_refused_by_a_sentence(name):
    seed = random.randrange(2**31)
    tried, faults = fuzz_files.fuzz([name], None if LONG else FEW, seed)
    assert tried > 1 and not faults


@pytest.mark.parametrize("name", formats())
def test_the_whole_one_is_read(name):
    how = formats()[name]
    result = fuzz_files.answer(how, how.content)
    assert result.status == how.status, result.said
