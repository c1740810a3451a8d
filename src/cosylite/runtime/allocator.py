"""The C library's allocator: fewer pools of freed memory."""

import ctypes
import os
import sys

_M_ARENA_MAX = -8
_VARIABLES = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")


def limit_arenas(count: int) -> bool:
    """Let threads share pools of memory ("arenas"): `count` of them, at least two.

    glibc gives every thread a pool of its own, up to eight per processor, and each keeps tens of megabytes that were
    freed in it. The stages of a stream are threads, which take 60 MB more that way, for no speed. The limit holds
    for the whole process, for pools that are not there yet. Nothing happens where the user chose a limit by environment
    variable, or where the C library has none.

    Returns:
        Whether the limit was set.
    """
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _VARIABLES):
        return False
    change = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has no such function
    return change is not None and bool(change(_M_ARENA_MAX, max(2, count)))
