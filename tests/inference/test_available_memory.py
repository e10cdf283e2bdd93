"""Memory that is available: the least that the machine and the control groups of the process leave."""

import math

import pytest
from raterzoo.inference.runs.available_memory import available_memory

GB = 10**9
V2 = {"max": "memory.max", "used": "memory.current", "cache": "inactive_file"}
V1 = {"max": "memory.limit_in_bytes", "used": "memory.usage_in_bytes", "cache": "total_inactive_file"}


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n")


def machine(root, gigabytes=16):
    write(root, "proc/meminfo", f"MemTotal: 99 kB\nMemAvailable:   {gigabytes * GB // 1024} kB")


def group(root, names, folder, limit, used, cache=0):
    write(root, f"sys/fs/cgroup/{folder}/{names['max']}", limit)
    write(root, f"sys/fs/cgroup/{folder}/{names['used']}", used)
    write(root, f"sys/fs/cgroup/{folder}/memory.stat", f"anon 5\n{names['cache']} {cache}")


def test_nothing_is_known_without_files(tmp_path):
    assert available_memory(tmp_path) == math.inf


def test_machine(tmp_path):
    machine(tmp_path)
    assert available_memory(tmp_path) == pytest.approx(16 * GB)


@pytest.mark.parametrize(("limited", "expected"), [("job/step", 3), ("job", 4), ("", 5), (None, 16)])
def test_group_of_version_2_or_one_around_it(tmp_path, limited, expected):
    machine(tmp_path)
    write(tmp_path, "proc/self/cgroup", "0::/job/step")
    for folder in ("job/step", "job"):
        group(tmp_path, V2, folder, "max", 2 * GB)
    if limited is not None:
        group(tmp_path, V2, limited, (expected + 2) * GB, 2 * GB)
    assert available_memory(tmp_path) == pytest.approx(expected * GB)


def test_group_of_version_1(tmp_path):
    write(tmp_path, "proc/self/cgroup", "5:cpu,cpuacct:/other\n4:hugetlb,memory:/job/step\n0::/")
    group(tmp_path, V1, "memory/job/step", 9223372036854771712, 2 * GB)
    assert available_memory(tmp_path) == math.inf
    machine(tmp_path)
    assert available_memory(tmp_path) == pytest.approx(16 * GB)
    group(tmp_path, V1, "memory/job", 6 * GB, 2 * GB)
    assert available_memory(tmp_path) == 4 * GB
    group(tmp_path, V1, "memory/other", GB, 0)
    group(tmp_path, V1, "cpu/other", GB, 0)
    assert available_memory(tmp_path) == 4 * GB  # neither another group nor another controller


@pytest.mark.parametrize(("names", "line", "mount"), [(V2, "0::", "."), (V1, "4:memory:", "memory")])
@pytest.mark.parametrize("path", ["/docker/1f", "/../../docker/1f", "/"])
def test_a_container_sees_its_group_as_the_mount(tmp_path, names, line, mount, path):
    machine(tmp_path)
    write(tmp_path, "proc/self/cgroup", line + path)
    group(tmp_path, names, mount, 2 * GB, GB)
    assert available_memory(tmp_path) == GB


@pytest.mark.parametrize(("names", "line", "mount"), [(V2, "0::/", "."), (V1, "4:memory:/", "memory")])
def test_file_cache_that_can_be_dropped_is_available(tmp_path, names, line, mount):
    machine(tmp_path)
    write(tmp_path, "proc/self/cgroup", line)
    group(tmp_path, names, mount, 4 * GB, 4 * GB, cache=3 * GB)
    assert available_memory(tmp_path) == 3 * GB
    group(tmp_path, names, mount, 4 * GB, 5 * GB)
    assert available_memory(tmp_path) == 0
