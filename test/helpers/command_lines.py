# SPDX-License-Identifier: Apache-2.0
"""Random command lines: of each program some that are right, with one to four faults.
None names a file by an absolute path, or does anything to the machine."""

import random

FRAME = "in.pcap"  # made by the runner, with others that are named here
PORTS = ["null", "null:size=1500", "ring:a", "pcap:rx=in.pcap", "pcap:tx=out.pcap",
         "pcap:rx=in.pcap,tx=out.pcap", "pcap:rx=in.pcap,loop=1", "packet:lo", "xdp:lo",
         "netmap:lo", "netmap:a{1", "tap:t0", "memif:sock,role=server", "memif:sock",
         "vhost:sock", "virtio-user:sock", "virtio-user:sock,server=1", "0", "0000:00:01.0"]

# Words of a command line; {port} is any of PORTS.
LINES = [
    "capture {port} out.pcap --duration 20ms --limit 10 --snaplen 64 --pcapng --ns",
    "connect client {port} --clients 10.0.0.1..10.0.0.9 --servers 10.1.0.0/24 --count 9 "
    "--duration 20ms --drain 0 --rate 1k --peer-mac 02:00:00:00:00:02 --json out.json",
    "connect server {port} --servers 2001:db8::/120 --duration 20ms --http /",
    "connect both --clients 10.0.0.1 --servers 10.0.0.2 --count 9 --drain 0 --vlan 7",
    "doctor --duration 0.1 echo {port} 2 20ms",
    "echo {port} 3 20ms",
    "example_replay in.pcap {port}",
    "example_spray in.pcap out.pcap",
    "firehose -i {port} -t 20ms -r 64 lib.so",
    "firehose --print-header",
    "generate --port {port} --receive {port} --stack eth,ip4,udp --set udpDst=1..9 "
    "--flows 4 --size 60 --rate 100kpps --arrivals poisson --count 20 --duration 20ms "
    "--idle 20ms --seed 3 --json out.json --strict",
    "generate --port {port} --stream eth,ip6,tcp;rate=1Mpps;size=imix;tcpDst=53 "
    "--duration 20ms --idle 0",
    "generate --receive {port} --idle 20ms --duration 20ms",
    "loadtest find-limit -D 10ms --warm-up 0 --wait 0 -b 1e6 -p 1e6 -e true --sizes 60 "
    "--json out.json {port}",
    "loadtest transient -D 10ms --warm-up 0 -b 1e6 --bench-file out.csv in.pcap {port}",
    "model predict --task 100 --io 50 --ghz 2.5 --line 10G --size 64 --burst 32",
    "model predict --task 100 --model model.json --port null",
    "packetblaster replay in.pcap {port} -D 20ms",
    "packetblaster synth {port} -D 20ms --sizes 64,1500 --src 02:00:00:00:00:01",
    "pci_bind -u 0000:00:01.0",
    "pci_bind -i 01:00.0",
    "plan echo {port} 3 20ms",
    "plan --no-source echo {port} 3",
    "ports", "ports --json", "ports --kinds",
    "proto", "proto udp", "proto ip6",
    "ps", "ps --json",
    "replay --rate 1Mpps --loop 2 --limit 10 --duration 20ms in.pcap {port}",
    "replay --speed 1000 in.pcap {port}",
    "replay --topspeed in.pcap {port}",
    "run script.lua one two",
    "shm --json 1/engine", "shm 1",
    "snabbmark basic1 1000", "snabbmark esp 100 64 transport encapsulate",
    "snsh script.lua one", "snsh -l core.lib script.lua",
    "top -1 -i 20ms --json", "top --once -s name 1",
    "vtep --inner {port} --outer {port} --address 192.0.2.1/24 --vni 42 --remote "
    "192.0.2.2@02:00:00:00:00:02 --static 42,02:00:00:00:00:03,192.0.2.2 --mtu 1500 "
    "--ttl 64 --dscp copy --duration 20ms --report 10ms --json out.json --state state",
    "vtep --inner {port} --outer {port} --address 2001:db8::1/64 --vlan 10=42 --remote "
    "2001:db8::2 --udp-checksum off --ageing 5 --capacity 100 --strict --duration 20ms",
    "vtep --config vtep.conf --duration 20ms",
    "--packets 4096 echo {port} 1 20ms",
    "--cpus 0 echo {port} 1 20ms",
    "--watchdog 2 echo {port} 1 20ms",
    "--port 0000:01:00.0=null echo 0000:01:00.0 1 20ms",
    "--group root ps", "--version", "--help", "echo --help", "-p . ps",
    "--snabb . ps", "nosuch program", "",
]

# Put into words. No '/', so that no path leads out of the folder.
PIECES = ["--", "-", "=", ",", ":", ";", "@", "%", "%s", "%d", "..", ".", " ", "\t", "\n",
          "'", '"', "\\", "\x1b[2J", "ä", "0", "-1", "1e9", "1e999", "nan", "0x10", "1.5",
          "4294967296", "99999999999999999999", "x" * 300, "*", "[", "]", "(", "{"]
WORDS = ["--help", "-h", "--json", "--duration", "20ms", "0", "-1", "", "--", "-", "null",
         "--cpus", "0-1", "99", "--limit", "--rate", "1Gbit", "nosuch", "in.pcap", "."]

# What could end the machine's connections, or take a disk or memory whole.
FORBIDDEN = ("--do", "--force")


def mutate_word(rng, word):
    at = rng.randint(0, len(word))
    kind = rng.randrange(5)
    if kind == 0:
        return word[:at] + rng.choice(PIECES) + word[at:]
    if kind == 1:
        return word[:at] + word[at + rng.randint(1, 3):]
    if kind == 2:
        return word[:at] + word[at:at + 5] * rng.randint(2, 4) + word[at:]
    if kind == 3:
        return rng.choice(PIECES)
    return word.upper()


def mutate(rng, words):
    """The words with one fault, seldom in the first, which names the program."""
    words, at = list(words), rng.randint(rng.choice((0, 1, 1, 1)), max(1, len(words)))
    kind = rng.randrange(6)
    if kind == 0 and words:
        at = min(at, len(words) - 1)
        words[at] = mutate_word(rng, words[at])
    elif kind == 1:
        words.insert(at, rng.choice(WORDS))
    elif kind == 2 and words:
        del words[min(at, len(words) - 1)]
    elif kind == 3 and words:
        words.insert(at, rng.choice(words))
    elif kind == 4 and len(words) > 2:
        i, j = rng.sample(range(1, len(words)), 2)
        words[i], words[j] = words[j], words[i]
    elif words:
        at = min(at, len(words) - 1)
        words[at] = mutate_word(rng, words[at])
    return words


def make(seed, number):
    """Command line `number` of the seed: a list of words."""
    rng = random.Random(f"{seed} {number}")
    line = rng.choice(LINES)
    words = [word.replace("{port}", rng.choice(PORTS)) for word in line.split()]
    for _ in range(rng.choice((0, 0, 1, 1, 1, 2, 3))):
        words = mutate(rng, words)
    return [word.replace("/", "_") if word.startswith("/") or ".." in word else word
            for word in words if word not in FORBIDDEN]
