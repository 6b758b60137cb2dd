# SPDX-License-Identifier: Apache-2.0
"""What packages bring beside the program: man pages and completions, which are made of
what --help prints; the service; the manifest for Kubernetes."""

import os
import re
import shutil
import signal

import pytest

from helpers.command import PERIGEE, ROOT, check, perigee, run, running, tool, wait_until

PROGRAMS = [line.split()[0] for line in
            perigee("--help").stdout.partition("Programs:\n")[2].splitlines()]


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manual")
    check(str(PERIGEE), "run", ROOT / "tools" / "manual" / "make.lua", folder)
    return folder


def options_of(*words):
    """Those that --help lists, at the beginnings of lines."""
    text = perigee(*words, "--help").stdout
    return set(re.findall(r"^ {1,6}(?:-\w, )?(--[\w-]+)", text, re.M))


def complete(manual, *words):
    """What bash offers for the last word."""
    script = (f"source {manual}/bash/perigee; COMP_WORDS=(\"$@\"); "
              "COMP_CWORD=$(($# - 1)); _perigee; printf '%s\\n' \"${COMPREPLY[@]}\"")
    return set(check("bash", "-c", script, "bash", *words).split())


def test_each_program_has_a_page_with_its_options(manual):
    names = {path.stem for path in (manual / "man1").iterdir()}
    assert names == {"perigee"} | {f"perigee-{name}" for name in PROGRAMS}
    page = (manual / "man1" / "perigee.1").read_text().replace("\\-", "-")
    assert options_of() and all(option in page for option in options_of())
    for name in "generate", "top", "vtep", "replay", "capture":
        page = (manual / "man1" / f"perigee-{name}.1").read_text().replace("\\-", "-")
        assert options_of(name) and all(option in page for option in options_of(name))
    page = (manual / "man1" / "perigee-loadtest.1").read_text().replace("\\-", "-")
    for name in "find-limit", "rfc2544":
        assert all(option in page for option in options_of("loadtest", name))


def test_pages_are_sound(manual):
    if not shutil.which("groff"):
        pytest.skip("there is no groff here")
    pages = sorted((manual / "man1").iterdir())
    result = run("groff", "-man", "-ww", "-Tutf8", "-z", *pages)
    assert (result.returncode, result.stderr) == (0, "")


def test_bash_completes(manual):
    assert set(PROGRAMS) <= complete(manual, "perigee", "")
    assert options_of() <= complete(manual, "perigee", "--")
    assert complete(manual, "perigee", "gen") == {"generate"}
    assert complete(manual, "perigee", "--cpus", "1-2", "gen") == {"generate"}
    for program in "generate", "top", "vtep":
        assert options_of(program) <= complete(manual, "perigee", program, "--")
    assert "--metrics" in complete(manual, "perigee", "echo", "null", "--m")
    assert "find-limit" in complete(manual, "perigee", "loadtest", "find")
    assert options_of("loadtest", "find-limit") <= complete(
        manual, "perigee", "loadtest", "find-limit", "--")


def test_zsh_takes_its_file(manual):
    if not shutil.which("zsh"):
        pytest.skip("there is no zsh here")
    result = run("zsh", "-n", manual / "zsh" / "_perigee")
    assert (result.returncode, result.stderr) == (0, "")
    text = (manual / "zsh" / "_perigee").read_text()
    assert all(f"'{name}:" in text for name in PROGRAMS)
    assert all(f"*{option}[" in text for option in options_of("vtep"))


@pytest.mark.fast
def test_the_package_has_the_version_and_what_setup_installs():
    version = re.search(r"^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1]
    debian = ROOT / "packaging" / "debian"
    assert (debian / "changelog").read_text().startswith(f"perigee ({version}) ")
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text()
    control = (debian / "control").read_text().replace("\n ", " ")
    needed = set(re.search(r'BUILD="([^"]*)"',
                           (ROOT / "tools" / "setup").read_text())[1].split())
    given = {"make", "gcc", "libc6-dev"}  # build-essential
    build = set(re.findall(r"[\w.+-]+", re.search(r"^Build-Depends: (.*)$", control, re.M)[1]))
    assert needed - given <= build
    depends = re.search(r"^Depends: (.*)$", control, re.M)[1]
    assert all(name in depends for name in needed if name.startswith("lua-"))


@pytest.mark.fast
def test_the_container_is_built_with_what_the_package_wants():
    text = (ROOT / "packaging" / "container" / "Containerfile").read_text()
    control = (ROOT / "packaging" / "debian" / "control").read_text().replace("\n ", " ")
    wanted = re.sub(r"\([^)]*\)", "", re.search(r"^Build-Depends: (.*)$", control, re.M)[1])
    names = {name.split("|")[0].strip() for name in wanted.split(",")} - {"debhelper-compat"}
    assert names | {"build-essential", "debhelper"} <= set(text.split())


@pytest.mark.fast
def test_the_service_runs_nothing_that_small_systems_lack():
    """kill is a program of procps, and a word of the shell."""
    systemd = ROOT / "packaging" / "systemd"
    text = (systemd / "perigee@.service").read_text() + (systemd / "card.conf").read_text()
    programs = set(re.findall(r"^Exec\w+=[-+!:@]*(\S+)", text, re.M))
    assert programs == {"/usr/bin/perigee", "/bin/sh"}


@pytest.mark.parametrize("name, program, config_name", [
    ("daemonset", "vtep", "perigee"), ("click", "click", "perigee-nat")])
def test_the_manifest_names_options_that_there_are(name, program, config_name):
    yaml = pytest.importorskip("yaml")
    manifest = ROOT / "packaging" / "kubernetes" / f"{name}.yaml"
    *configs, daemon_set = yaml.safe_load_all(manifest.read_text())
    assert [config["metadata"]["name"] for config in configs] in ([], [config_name])
    spec = daemon_set["spec"]
    template = spec["template"]
    assert spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
    pod = template["spec"]
    container, = pod["containers"]
    args = container["args"]
    options = {word for word in args if word.startswith("--")}
    assert program in args and options <= options_of() | options_of(program)
    volume, = [v for v in pod["volumes"] if "configMap" in v]
    assert volume["configMap"]["name"] == config_name
    mounts = {mount["name"] for mount in container["volumeMounts"]}
    assert mounts == {volume["name"] for volume in pod["volumes"]}
    assert container["resources"]["limits"] == container["resources"]["requests"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    address = args[args.index("--metrics") + 1]
    assert str(ports["metrics"]) == address.rsplit(":", 1)[1] == \
        template["metadata"]["annotations"]["prometheus.io/port"]
    assert {container[probe]["httpGet"]["port"]
            for probe in ("livenessProbe", "readinessProbe")} <= set(ports)
    for checker in "kubeconform", "kubernetes-validate":
        if shutil.which(checker):
            check(checker, "-strict" if checker == "kubeconform" else "--strict", manifest)


# Lines of sh: this machine's /etc/perigee is that of a mount namespace.
ETC = """
set -e
mount --make-rprivate /
groups=$(grep -v ^perigee: /etc/group)
mount -t tmpfs none /etc
printf '%s\\nperigee:x:990:\\n' "$groups" >/etc/group
mkdir /etc/perigee
cp "$1"/* /etc/perigee
shift
ip link set lo up
for n in 1 2; do
  ip link add eth$n type veth peer far$n
  ip link set eth$n up
  ip link set far$n up
done
exec "$@"
"""
PACKAGED = ROOT / "packaging"


def started(folder, words, **environment):
    """Run `perigee` with these words in namespaces of its own, with the folder's files in
    /etc/perigee: it is ready, and ends when it is told to."""
    with running(tool("unshare"), "--net", "--mount", "sh", "-c", ETC, "sh", folder, PERIGEE,
                 *words, env={**os.environ, **environment}) as process:
        process.wait_for("vtep: 192.0.2.1")
        inside = (tool("nsenter"), "--net", "--target", str(process.pid))

        def is_ready():
            assert process.read(), process.said
            return run(*inside, "curl", "-sf", "-m", "20", "-o", "/dev/null",
                       "http://127.0.0.1:9100/readyz").returncode == 0
        wait_until(is_ready, "readiness")
        assert process.interrupt(signal.SIGTERM) == 0, process.said


@pytest.mark.skipif(os.geteuid() != 0, reason="making namespaces and mounts needs root")
def test_the_units_example_starts():
    """As the page says: vtep.conf and vtep.json in /etc/perigee, and the unit's command."""
    settings = dict(line.split("=", 1) for line in
                    (PACKAGED / "systemd/vtep.conf").read_text().splitlines()
                    if not line.startswith("#"))
    unit = (PACKAGED / "systemd/perigee@.service").read_text()
    command = re.search("^ExecStart=(.*)$", unit, re.M)[1].split()
    assert command[0] == "/usr/bin/perigee"
    page = (PACKAGED / "README.md").read_text()
    for name, value in settings.items():
        assert f"    {name}={value}\n" in page
    words = []
    for word in command[1:]:
        words += settings[word[1:]].split() if word.startswith("$") else [word]
    started(PACKAGED / "systemd", words)


@pytest.mark.skipif(os.geteuid() != 0, reason="making namespaces and mounts needs root")
def test_the_manifests_container_starts(tmp_path):
    """Its arguments, ConfigMap and environment; null: stands for the two devices."""
    yaml = pytest.importorskip("yaml")
    config, daemon_set = yaml.safe_load_all(
        (PACKAGED / "kubernetes/daemonset.yaml").read_text())
    container, = daemon_set["spec"]["template"]["spec"]["containers"]
    for name, text in config["data"].items():
        (tmp_path / name).write_text(text)
    devices = ["0000:01:00.0", "0000:01:00.1"]
    ports = [word for device in devices for word in ("--port", f"{device}=null")]
    started(tmp_path, ports + container["args"],
            PCIDEVICE_INTEL_COM_SRIOV_DPDK=",".join(devices))


@pytest.mark.fast
@pytest.mark.parametrize("there, missing", [
    ([], "dpkg-buildpackage"), (["dpkg-buildpackage"], "dh"), (["dh"], "dpkg-buildpackage")])
def test_a_tool_that_a_package_needs_is_named(tmp_path, there, missing):
    """Nothing else is in the PATH."""
    (tmp_path / "dirname").symlink_to(shutil.which("dirname"))
    for name in there:
        (tmp_path / name).write_text("#!/bin/sh\necho it runs\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    result = run("/bin/sh", ROOT / "packaging/deb", tmp_path / "out", env={"PATH": str(tmp_path)})
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (f"packaging/deb: {missing} is missing: apt-get install dpkg-dev "
                             "debhelper\n")
