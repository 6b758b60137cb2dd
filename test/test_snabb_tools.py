# SPDX-License-Identifier: Apache-2.0
"""Snabb's programs that Perigee has of its own, and how they are called."""

import os
import re

import pytest
from scapy.utils import RawPcapReader, wrpcap

from helpers.command import PERIGEE, ROOT, TIMEOUT_S, check, perigee, run


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


@pytest.mark.parametrize("words", [["ps"], ["top"], ["packetblaster"],
                                   ["packetblaster", "synth"]])
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_checkouts_usage_is_the_help(checkout, words, option):
    folder = checkout.joinpath("program", *words)
    folder.mkdir(parents=True, exist_ok=True)
    usage = f"Usage:\n  what {words} takes \\n\n"
    (folder / "README.inc").write_text(usage)
    result = perigee("--snabb", checkout, *words, option)
    assert result.returncode == 0, result.stderr
    assert result.stdout == usage + "\n"
    assert "Usage: perigee " in perigee(*words, option).stdout


def test_packetblaster_names_its_modes():
    for words in (["extra-mode"], ["../synth"], ["sub.synth"]):
        result = perigee("packetblaster", *words)
        assert result.returncode == 2
        assert "must be one of 'replay', 'synth'" in result.stderr
    result = perigee("packetblaster")
    assert result.returncode == 2 and "missing argument" in result.stderr


# firehose -------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path):
    """A function that compiles a callback library from C."""
    header = tmp_path / "firehose.h"
    header.write_text(perigee("firehose", "--print-header").stdout)

    def make(code):
        source, made = tmp_path / "callback.c", tmp_path / "callback.so"
        source.write_text(code)
        check("gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", made, source)
        return made
    return make


@pytest.fixture
def capture(tmp_path):
    """A file of 3,000 packets, of 14 to 513 bytes, and the packets."""
    packets = [bytes([i % 256]) * (14 + i % 500) for i in range(3000)]
    path = tmp_path / "in.pcap"
    wrpcap(str(path), packets, linktype=1)
    return path, packets


HASHING = """
#include <stdio.h>
#include "firehose.h"
static unsigned long packets, sum;
void firehose_start(void) { puts("begin"); }
void firehose_packet(const char *port, char *data, int length)
{
  sum = sum * 31 + length;
  for (int i = 0; i < length; i++)
    sum = sum * 31 + (unsigned char)data[i];
  if (packets++ == 0)
    printf("port %s\\n", port);
}
void firehose_stop(void) { printf("%lu %lu\\n", packets, sum); fflush(stdout); }
"""


def hash_of(packets):
    total = 0
    for packet in packets:
        for value in (len(packet), *packet):
            total = (total * 31 + value) % 2**64
    return total


@pytest.mark.parametrize("ring_size", [2, 64, 2048])
def test_firehose_shows_each_packet_once_and_whole(library, capture, ring_size):
    path, packets = capture
    result = perigee("firehose", "-i", f"pcap:rx={path}", "-r", ring_size,
                     library(HASHING))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(
        f"begin\nport pcap:rx={path}\n{len(packets)} {hash_of(packets)}\n")


LAZY = """
#define FIREHOSE_OWN_CALLBACK
#include "firehose.h"
int firehose_callback_v1(const char *port, char **packets, struct firehose_rdesc *ring,
                         int ring_size, int index)
{
  for (int n = 0; n < %s && ring[index].status & 1; n++)
    index = (index + 1) & (ring_size - 1);
  return %s;
}
"""


def test_firehose_gives_again_what_was_left_over(library, capture):
    path, packets = capture
    result = perigee("firehose", "-i", f"pcap:rx={path}", "-r", "64",
                     library(LAZY % (3, "index")))
    assert result.returncode == 0, result.stderr
    assert f"{len(packets)} packets seen by the callback, 0 left over" in result.stdout
    assert f"freed {len(packets):,}" in result.stdout


def test_firehose_ends_with_packets_left_over(library):
    result = perigee("firehose", "-i", "null", "-t", "0.05", "-r", "64",
                     library(LAZY % (0, "index")))
    assert result.returncode == 0, result.stderr
    assert "0 packets seen by the callback, 63 left over" in result.stdout


@pytest.mark.parametrize("returned", ["-1", "64", "ring_size - 1"])
def test_firehose_checks_what_the_function_returns(library, capture, returned):
    result = perigee("firehose", "-i", "ring:a", "-i", f"pcap:rx={capture[0]}",
                     "-r", "64", library(LAZY % (1, f"index == 1 ? {returned} : index")))
    assert result.returncode == 1
    assert "firehose_callback_v1 returned " in result.stderr


def test_firehose_says_what_is_missing(library, tmp_path):
    other = tmp_path / "no.so"
    other.write_text("not a library")
    for words, sentence in [
            ([], "give --input PORT"), (["-i", "null"], "give a shared library"),
            (["-i", "null", other], "can't load the library"),
            (["-i", "null", library("int x;")], "has no function firehose_callback_v1"),
            (["-r", "3", "-i", "null", "x.so"], "isn't a power of two")]:
        result = perigee("firehose", *words)
        assert result.returncode == 2, words
        assert sentence in result.stderr


def test_firehoses_example_runs(tmp_path):
    example = perigee("firehose", "--example").stdout
    commands = "\n".join(line[2:] for line in example.splitlines()
                         if line.startswith("  ") or not line)
    commands = commands.replace("--time 1 ", "--time 0.05 ")
    result = run("sh", "-e", "-c", commands, cwd=tmp_path, timeout=TIMEOUT_S,
                 env={**os.environ, "PATH": f"{ROOT}:{os.environ['PATH']}"})
    assert result.returncode == 0, result.stderr
    packets, size = re.search(r"^counting\n(\d+) packets, (\d+) bytes$", result.stdout,
                              re.MULTILINE).groups()
    assert 0 < int(packets) * 60 == int(size)


# The examples -----------------------------------------------------------------------


def packets_of(path):
    return [bytes(packet) for packet, _ in RawPcapReader(str(path))]


def test_example_replay_sends_the_file_once(capture, tmp_path):
    path, packets = capture
    out = tmp_path / "out.pcap"
    result = perigee("example_replay", path, f"pcap:tx={out}")
    assert result.returncode == 0, result.stderr
    assert "3,000 sent on capture.output -> playback.input" in result.stdout
    assert packets_of(out) == packets


def test_example_replay_takes_names_of_interfaces(capture, namespace):
    network = namespace()
    network.ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
    network.ip("link", "set", "v0", "up")
    network.ip("link", "set", "v1", "up")
    result = network.run(PERIGEE, "example-replay", capture[0], "v0")
    assert result.returncode == 0, result.stderr
    count = int(network.check("cat", "/sys/class/net/v1/statistics/rx_packets"))
    assert count >= len(capture[1])


def test_example_spray_drops_every_other_packet(capture, tmp_path):
    path, packets = capture
    out = tmp_path / "out.pcap"
    result = perigee("example_spray", path, out)
    assert result.returncode == 0, result.stderr
    assert packets_of(out) == packets[1::2]
    assert "1,500 dropped: sprayed" in result.stdout


def test_the_examples_name_the_file_that_isnt_there(tmp_path):
    for name in "example_replay", "example_spray":
        result = perigee(name, tmp_path / "none.pcap", "null")
        assert result.returncode != 0 and "none.pcap" in result.stderr
