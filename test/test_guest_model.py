# SPDX-License-Identifier: Apache-2.0
"""`perigee model` with DPDK's drivers of cards, in a virtual machine: two of a kind with a
cable between them, where instructions are counted."""

import pytest

from helpers.guest import COUNTED, PUNCTUAL_VIRTIO, booted, cable
from helpers.schema import valid

CARDS = {"e1000e": "e1000e", "virtio": PUNCTUAL_VIRTIO}
PAIRS = {"e1000e": ("0000:01:00.0", "0000:02:00.0"),
         "virtio": ("0000:03:00.0", "0000:04:00.0")}
TIMEOUT_S = 600


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    wires = [word for number, model in enumerate(CARDS.values())
             for word in cable([model, model], 2 * number)]
    with booted(tmp_path_factory.mktemp("guest"), memory=768,
                devices=[*COUNTED, *wires]) as running:
        for address in sum(PAIRS.values(), ()):
            bound = running.perigee("pci_bind", "-u", address, "--do")
            assert bound.returncode == 0, bound.stdout
        yield running


@pytest.mark.parametrize("kind", PAIRS)
def test_cards_with_a_cable_are_measured(guest, kind):
    """All packets come back. A burst shares what a call costs, and a card copies none;
    virtio's figures vary too much for that while this machine is busy."""
    pair = "=".join(PAIRS[kind])
    out = guest.folder / f"model-{kind}"
    measured = guest.perigee("model", "--quick", "--no-memory", "--ports", "ring", "--out",
                             out, pair, timeout=TIMEOUT_S)
    assert measured.returncode == 0, measured.stdout
    found = valid("model", (out / "model.json").read_text())
    cells = {port["name"]: {(cell["burst"], cell["size"]): cell["io"]
                            for cell in port["cells"]} for port in found["ports"]}
    cost, ring = cells[pair], cells["ring"]
    assert cost[32, 64] > 2 * ring[32, 64], cells
    if kind == "e1000e":
        assert cost[1, 64] > 2 * cost[32, 64], cells
        assert cost[32, 1518] < 1.3 * cost[32, 64], cells
