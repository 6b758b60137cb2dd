# SPDX-License-Identifier: Apache-2.0
"""Snabb's programs that Perigee has of its own, and how they are called."""

import pytest

from helpers.command import PERIGEE, perigee, run


# Names of programs ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["proto", "perigee-proto", "snabb_proto", "proto-1.0"])
def test_a_link_named_after_a_program_runs_it(tmp_path, name):
    link = tmp_path / name
    link.symlink_to(PERIGEE)
    result = run(link, "udp")
    assert result.returncode == 0
    assert result.stdout == perigee("proto", "udp").stdout != ""


@pytest.mark.parametrize("name", ["perigee-2.0", "snabb", "nosuch"])
def test_a_link_of_another_name_is_perigee(tmp_path, name):
    link = tmp_path / name
    link.symlink_to(PERIGEE)
    assert run(link, "--version").stdout.startswith("perigee ")
    assert run(link, "proto", "udp").stdout == perigee("proto", "udp").stdout


def test_programs_may_be_called_by_snabbs_names():
    assert perigee("snabb-proto", "udp").stdout == perigee("proto", "udp").stdout


# packetblaster --------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """A folder that looks like the src of a Snabb checkout, with a mode of
    packetblaster that Perigee hasn't, and one that it has."""
    (tmp_path / "core").mkdir()
    (tmp_path / "core/app.lua").write_text("error('Perigee has this module')")
    for mode in "extra_mode", "synth":
        folder = tmp_path / "program/packetblaster" / mode
        folder.mkdir(parents=True)
        (folder / f"{mode}.lua").write_text(
            "module(..., package.seeall)\n"
            "function run (args)\n"
            "  local c = config.new()\n"
            "  config.app(c, 'source', require('apps.test.synth').Synth, {})\n"
            "  require('program.packetblaster.packetblaster').run_loadgen(\n"
            "    c, args, {duration = 0.05})\n"
            "end\n")
    return tmp_path


def test_packetblaster_takes_modes_of_the_checkout(checkout):
    result = perigee("--snabb", checkout, "packetblaster", "extra-mode", "null")
    assert result.returncode == 0, result.stderr
    assert "source.output1 -> nic1.input" in result.stdout


def test_packetblasters_own_modes_come_first(checkout):
    result = perigee("--snabb", checkout, "packetblaster", "synth", "-D", "0.05", "null")
    assert result.returncode == 0, result.stderr
    assert "packetblaster: 0 s" in result.stdout


def test_packetblaster_names_its_modes():
    for words in (["extra-mode"], ["../synth"], ["sub.synth"]):
        result = perigee("packetblaster", *words)
        assert result.returncode == 2
        assert "must be one of 'replay', 'synth'" in result.stderr
    result = perigee("packetblaster")
    assert result.returncode == 2 and "missing argument" in result.stderr
