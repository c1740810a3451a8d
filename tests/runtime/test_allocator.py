"""The limit on pools of freed memory."""

import os
import platform
import subprocess
import sys

import pytest

from cosylite.runtime.allocator import limit_arenas

PEAK = """
import sys, threading
from cosylite.runtime.allocator import limit_arenas
if sys.argv[1] == "limited":
    assert limit_arenas(2)
gate = threading.Barrier(8)
def work():
    kept = [bytearray(50_000) for _ in range(20)]
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
print(sum("rw-p" in line and line.split("-")[0].endswith("000000") for line in open("/proc/self/maps")))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the limit is glibc's")
def test_threads_share_pools() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")}

    def pools(kind: str) -> int:
        command = [sys.executable, "-c", PEAK, kind]
        return int(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)

    assert pools("free") >= 8 > 4 >= pools("limited")


def test_the_choice_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    assert not limit_arenas(2)
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    monkeypatch.setattr(sys, "platform", "win32")
    assert not limit_arenas(2)
