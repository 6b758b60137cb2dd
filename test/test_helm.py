# SPDX-License-Identifier: Apache-2.0
"""The Helm chart: its values' schema, and that what its templates give is what the manifests
for Kubernetes beside it say. By helm, too, where that is installed."""

import os
import re
import shutil
import signal

import pytest

from helpers import go_template
from helpers.command import PERIGEE, ROOT, check, run, running

yaml = pytest.importorskip("yaml")
jsonschema = pytest.importorskip("jsonschema")

PACKAGING = ROOT / "packaging"
CHART = PACKAGING / "helm" / "perigee"
NAT = ROOT / "examples" / "click" / "nat.click"
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = yaml.safe_load((CHART / "values.schema.json").read_text())
VTEP = {"program": "vtep",
        "arguments": ["--config", "/etc/perigee/vtep.json",
                      "--inner", "PCIDEVICE_INTEL_COM_SRIOV_DPDK",
                      "--outer", "PCIDEVICE_INTEL_COM_SRIOV_DPDK.2"],
        "files": {"vtep.json": '{"address": "192.0.2.1/24", "vnis": {"42": 0}, '
                               '"remotes": ["192.0.2.2"]}\n'}}
ODD = {"click": 'Idle; // "quotes" \\ and: {{ braces }}\n#\t& <tabs>\n', "networks": [],
       "devices": {"resource": "example.org/my-nic", "count": 1},
       "options": ["--cpus", "2-5"], "arguments": ["a b", "true", "7", "x: y"],
       "tolerations": [{"key": "k", "operator": "Exists"}], "image": {
           "repository": "registry.example/perigee", "tag": "1.2.3", "pullPolicy": "Always"}}
VALUES = {"click": {"click": NAT.read_text()}, "daemonset": VTEP, "odd": ODD}


def rendered(values):
    """{kind: object}, of the chart with these values."""
    values = {**DEFAULTS, **values}
    jsonschema.Draft7Validator(SCHEMA).validate(values)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    root = {"Values": values, "Release": {"Name": "it"},
            "Chart": {"Name": chart["name"], "AppVersion": chart["appVersion"]}}
    texts = [go_template.render(path.read_text(), root)
             for path in sorted((CHART / "templates").iterdir())]
    return {found["kind"]: found for found in map(yaml.safe_load, texts)}


@pytest.mark.parametrize("manifest", ["click", "daemonset"])
def test_it_is_what_the_manifest_says(manifest):
    *configs, wanted = yaml.safe_load_all(
        (PACKAGING / "kubernetes" / f"{manifest}.yaml").read_text())
    found = rendered(VALUES[manifest])
    pod, wanted_pod = found["DaemonSet"]["spec"]["template"], wanted["spec"]["template"]
    text = yaml.safe_dump(wanted_pod["spec"]).replace("nat.click", "config.click")
    text = text.replace("name: perigee-nat", "name: it")
    wanted_spec = yaml.safe_load(text)
    wanted_spec["volumes"][-1]["configMap"]["name"] = "it"
    spec = pod["spec"]
    assert spec.pop("tolerations") == []
    assert spec["containers"][0].pop("imagePullPolicy") == "IfNotPresent"
    assert spec == wanted_spec
    annotations = pod["metadata"]["annotations"]
    assert len(annotations.pop("checksum/config")) == 64
    assert annotations == wanted_pod["metadata"]["annotations"]
    selector = found["DaemonSet"]["spec"]["selector"]["matchLabels"]
    assert selector and selector.items() <= pod["metadata"]["labels"].items()
    data = found["ConfigMap"]["data"]
    if configs:
        assert data == configs[0]["data"]
    else:
        assert data == {"config.click": NAT.read_text()}


def test_odd_values_arrive_as_they_are():
    found = rendered(ODD)
    assert found["ConfigMap"]["data"] == {"config.click": ODD["click"]}
    container, = found["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    assert container["args"] == [
        "--cpus", "2-5", "--metrics", "0.0.0.0:9100", "click", "/etc/perigee/config.click",
        "--device", "0=PCIDEVICE_EXAMPLE_ORG_MY_NIC", *ODD["arguments"]]
    assert container["image"] == "registry.example/perigee:1.2.3"
    assert container["resources"]["limits"]["example.org/my-nic"] == "1"


def test_another_configuration_makes_other_pods():
    sums = {rendered({"click": text})["DaemonSet"]["spec"]["template"]["metadata"]
            ["annotations"]["checksum/config"] for text in ("a", "b")}
    assert len(sums) == 2


def test_the_click_file_starts_with_the_rendered_arguments(tmp_path):
    """null: stands for the two devices."""
    found = rendered(VALUES["click"])
    path = tmp_path / "config.click"
    path.write_text(found["ConfigMap"]["data"]["config.click"])
    container, = found["DaemonSet"]["spec"]["template"]["spec"]["containers"]
    words = [str(path) if word == "/etc/perigee/config.click" else word
             for word in container["args"]]
    at = words.index("click")
    devices = ["0000:01:00.0", "0000:01:00.1"]
    ports = [word for device in devices for word in ("--port", f"{device}=null")]
    with running(PERIGEE, *ports, *words[:at][:-2], *words[at:], env={
            **os.environ, "PCIDEVICE_INTEL_COM_SRIOV_DPDK": ",".join(devices)}) as process:
        process.wait_for_engine()
        assert process.interrupt(signal.SIGTERM) == 0, process.said


@pytest.mark.parametrize("values", [
    {}, {"click": "Idle;", "program": "echo"}, {"click": "Idle;", "cpus": 2},
    {"click": "Idle;", "cpu": "2.5"}, {"click": "Idle;", "memory": "1 GB"},
    {"click": "Idle;", "hugepages": {"size": "4Ki", "amount": "1Gi"}},
    {"click": "Idle;", "capabilities": ["CAP_NET_RAW"]},
    {"click": "Idle;", "files": {"../etc/passwd": "x"}},
    {"click": "Idle;", "devices": {"resource": "sriov", "count": 2}}])
def test_the_schema_refuses(values):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SCHEMA).validate({**DEFAULTS, **values})


def test_the_schema_has_patterns_that_helm_takes():
    """Helm's are Go's (RE2): with (?!...) it installs nothing at all."""
    patterns = re.findall(r'"pattern": "(.*?)"', (CHART / "values.schema.json").read_text())
    assert len(patterns) > 4
    for pattern in patterns:
        assert not re.search(r"\(\?[=!<]|\\[1-9]", pattern), pattern


@pytest.mark.skipif(not shutil.which("helm"), reason="there is no helm here")
@pytest.mark.parametrize("name", VALUES)
def test_helm_gives_the_same(tmp_path, name):
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(VALUES[name]))
    said = check("helm", "template", "it", CHART, "--values", path)
    assert {found["kind"]: found for found in yaml.safe_load_all(said) if found} == \
        rendered(VALUES[name])
    check("helm", "lint", "--strict", CHART, "--values", path)
    refused = run("helm", "template", "it", CHART)
    assert refused.returncode != 0 and "schema" in refused.stderr
