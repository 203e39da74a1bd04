"""What of the machine could change a result: the environment fingerprint.

Two groups of facts: of the machine, and of the storage under a directory, from its file system down
to the last device. What cannot be read is null with the reason. Serial numbers, host names and
addresses are left out: a report is meant to be published.
Source of what to record: docs/explanation/method.md.
"""

import os
import platform
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from stithy.errors import give_reason
from stithy.hosts.devices import (
    find_mount,
    find_whole_disk,
    list_devices_under,
    list_mounts,
    read_text,
)
from stithy.results.manifest import Fact

Value = str | int | float | bool | None | tuple[str | int | float | bool | None, ...]


class _Missing(Exception):
    """A fact that this machine does not tell; its text is the reason."""


def read_machine_facts(proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> dict[str, Fact]:
    """Facts of CPU, memory, kernel and clock, by name; units last in the names."""
    cpu = sys / "devices" / "system" / "cpu"
    info = read_text(proc / "cpuinfo")
    readers: dict[str, Callable[[], Value]] = {
        "architecture": platform.machine,
        "cpu_model": lambda: _read_cpuinfo(info, "model name"),
        "cpu_microcode": lambda: _read_cpuinfo(info, "microcode"),
        "cpus": lambda: info.count("processor\t:") or (os.cpu_count() or 0),
        "cpu_cores": lambda: (
            len(set(re.findall(_CORE, info))) or _raise_missing("not in /proc/cpuinfo")
        ),
        "cpu_smt": lambda: _read(cpu / "smt" / "active") == "1",
        "cpu_governor": lambda: _read_governors(cpu),
        "cpu_turbo": lambda: _read_turbo(cpu),
        "cpu_virtual": lambda: "hypervisor" in _read_cpuinfo(info, "flags").split(),
        "numa_nodes": lambda: len(list((sys / "devices" / "system" / "node").glob("node[0-9]*"))),
        "machine": lambda: _read_machine(sys / "class" / "dmi" / "id"),
        "memory_bytes": lambda: _read_meminfo(proc, "MemTotal"),
        "swap_bytes": lambda: _read_meminfo(proc, "SwapTotal"),
        "transparent_huge_pages": lambda: _read_choice(
            sys / "kernel/mm/transparent_hugepage/enabled"
        ),
        "swappiness": lambda: int(_read(proc / "sys/vm/swappiness")),
        "dirty_background_ratio": lambda: int(_read(proc / "sys/vm/dirty_background_ratio")),
        "dirty_ratio": lambda: int(_read(proc / "sys/vm/dirty_ratio")),
        "kernel": lambda: _read(proc / "sys/kernel/osrelease"),
        "kernel_arguments": lambda: " ".join(
            part for part in _read(proc / "cmdline").split() if _TELLING_ARGUMENTS.fullmatch(part)
        ),
        "distribution": lambda: (
            (release := platform.freedesktop_os_release())["PRETTY_NAME"] or release["NAME"]
        ),
        "python": platform.python_version,
        "cgroup_version": lambda: _read_cgroup_version(proc),
        "clock_source": lambda: _read(
            sys / "devices/system/clocksource/clocksource0/current_clocksource"
        ),
    }
    facts = {name: _make_fact(read) for name, read in readers.items()}
    return facts | dict(_read_mitigations(cpu / "vulnerabilities"))


def read_storage_facts(
    path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys"), devices: tuple[str, ...] = ()
) -> dict[str, Fact]:
    """Facts of the file system that holds `path` and of every device under it, by name.

    A device's facts are called `device.<name>.<fact>`; `devices` lists them top to bottom. Where
    the kernel names none under `path`, such as under ZFS, `devices` are those that are known.
    """
    mount = find_mount(path, proc)
    sizes = os.statvfs(path)
    facts = {
        "filesystem": Fact(value=mount.kind),
        "mount_point": Fact(value=str(mount.point)),
        "mount_options": Fact(value=mount.options),
        "filesystem_size_bytes": Fact(value=sizes.f_blocks * sizes.f_frsize),
        "filesystem_free_bytes": Fact(value=sizes.f_bavail * sizes.f_frsize),
        "filesystem_block_bytes": Fact(value=sizes.f_bsize),
    }
    names = list_devices_under(path, proc, sys) or devices
    no_device = (
        "the kernel does not name the devices under zfs"
        if mount.kind == "zfs"
        else f"{mount.kind} is not on a block device"
    )
    facts["devices"] = Fact(value=names) if names else Fact(value=None, missing_because=no_device)
    for name in names:
        place = (sys / "class" / "block" / name).resolve()
        facts |= {f"device.{name}.{key}": fact for key, fact in _read_device(place).items()}
    return facts


def _read_device(place: Path) -> dict[str, Fact]:
    disk = find_whole_disk(place)
    queue, firmware = disk / "queue", disk / "device" / "firmware_rev"
    readers: dict[str, Callable[[], Value]] = {
        "size_bytes": lambda: int(_read(place / "size")) * 512,
        "model": lambda: _read(disk / "device" / "model"),
        "firmware": lambda: _read(firmware if firmware.exists() else disk / "device" / "rev"),
        "driver": lambda: (disk / "device" / "driver").resolve(strict=True).name,
        "rotational": lambda: _read(queue / "rotational") == "1",
        "scheduler": lambda: _read_choice(queue / "scheduler"),
        "queue_requests": lambda: int(_read(queue / "nr_requests")),
        "write_cache": lambda: _read(queue / "write_cache"),
        "logical_block_bytes": lambda: int(_read(queue / "logical_block_size")),
        "physical_block_bytes": lambda: int(_read(queue / "physical_block_size")),
        "alignment_offset_bytes": lambda: int(_read(place / "alignment_offset")),
        "discard_granularity_bytes": lambda: int(_read(queue / "discard_granularity")),
        "read_ahead_bytes": lambda: int(_read(queue / "read_ahead_kb")) * 1024,
        "read_only": lambda: _read(place / "ro") == "1",
    }
    return {name: _make_fact(read) for name, read in readers.items()}


def _make_fact(read: Callable[[], Value]) -> Fact:
    try:
        return Fact(value=read())
    except _Missing as reason:
        return Fact(value=None, missing_because=str(reason))
    except FileNotFoundError:
        return Fact(value=None, missing_because="the kernel does not report it here")
    except ValueError:
        return Fact(value=None, missing_because="the kernel reports no number here")
    except OSError as error:
        return Fact(value=None, missing_because=give_reason(error))


def _raise_missing(reason: str) -> int:
    raise _Missing(reason)


def _read(path: Path) -> str:
    return path.read_text(errors="replace").strip()


_CORE = re.compile(r"physical id\t: (\d+)\n(?:.*\n)*?core id\t\t: (\d+)")


def _read_cpuinfo(info: str, key: str) -> str:
    if match := re.search(rf"^{key}\s*: (.*)$", info, re.MULTILINE):
        return match[1].strip()
    raise _Missing(f"no {key!r} in /proc/cpuinfo")


def _read_governors(cpu: Path) -> str:
    files = sorted(cpu.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    if not files:
        raise _Missing("this machine does not scale its frequency, or does not show it")
    return ", ".join(sorted({_read(file) for file in files}))


def _read_turbo(cpu: Path) -> bool:
    if (no_turbo := cpu / "intel_pstate" / "no_turbo").exists():
        return _read(no_turbo) == "0"
    if (boost := cpu / "cpufreq" / "boost").exists():
        return _read(boost) == "1"
    raise _Missing("this machine does not show it")


def _read_machine(dmi: Path) -> str:
    parts = [_read(dmi / name) for name in ("sys_vendor", "product_name") if (dmi / name).exists()]
    if not parts:
        raise _Missing("the firmware does not report it")
    return " ".join(parts)


def _read_meminfo(proc: Path, key: str) -> int:
    if match := re.search(rf"^{key}:\s+(\d+) kB$", read_text(proc / "meminfo"), re.MULTILINE):
        return int(match[1]) * 1024
    raise _Missing(f"no {key} in /proc/meminfo")


def _read_choice(path: Path) -> str:
    """The choice in brackets of `always [madvise] never`, or the whole text without brackets."""
    text = _read(path)
    match = re.search(r"\[([^]]+)\]", text)
    return match[1] if match else text


_TELLING_ARGUMENTS = re.compile(
    r"(mitigations|psi|isolcpus|nohz_full|rcu_nocbs|transparent_hugepage|hugepages|hugepagesz|"
    r"intel_pstate|amd_pstate|idle|processor\.max_cstate|intel_idle\.max_cstate|preempt|pti|nosmt|"
    r"clocksource|tsc|elevator|scsi_mod\.\w+|nvme(_core)?\.\w+|dm_mod\.\w+|intel_iommu|iommu|mem|"
    r"maxcpus|cgroup_no_v1|systemd\.unified_cgroup_hierarchy)(=.*)?"
)


def _read_cgroup_version(proc: Path) -> str:
    kinds = {mount.kind for mount in list_mounts(proc)} & {"cgroup", "cgroup2"}
    if not kinds:
        raise _Missing("no control groups are mounted")
    return "1 and 2" if len(kinds) == 2 else "1" if "cgroup" in kinds else "2"


def _read_mitigations(directory: Path) -> Iterator[tuple[str, Fact]]:
    """One fact a flaw of the CPU that applies: `mitigation.<flaw>`."""
    if not directory.is_dir():
        yield "mitigation", Fact(value=None, missing_because="the kernel does not report it")
        return
    for file in sorted(directory.iterdir()):
        if (text := read_text(file)) and text != "Not affected":
            yield f"mitigation.{file.name}", Fact(value=text)
