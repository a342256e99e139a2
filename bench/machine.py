# SPDX-License-Identifier: BSD-3-Clause
"""What a reader of results must know: the machine, and the versions of the host MPIs."""

import os
import pathlib
import re
import subprocess
import time

from runner import HOSTS, MPI_ENV


def first_line(command):
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20,
                                stdin=subprocess.DEVNULL, check=False)
        return result.stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def host_version(host):
    """The MPI's version as its launcher tells it, or None where this MPI is not installed."""
    found = re.search(r"(?:Version:\s*|\((?:Open MPI|OpenRTE)\)\s*)(\d+\.\d+[.\w]*)",
                      first_line([str(MPI_ENV), host, "mpiexec", "--version"]))
    return found.group(1) if found else None


def host_title(host, version):
    kind, source = host.split("-")
    return f"{'MPICH' if kind == 'mpich' else 'Open MPI'} {version} ({'PyPI' if source == 'pypi' else 'Debian'})"


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
        "hosts": {host: version for host in HOSTS if (version := host_version(host))},
    }
