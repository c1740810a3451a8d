"""Opens the dictionary of haqumei, which unpacks itself into the user's cache at the first use ever."""

import importlib
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Protocol, cast

from cosylite.errors import DeviceError, OutputError

_LOG = logging.getLogger(__name__)
_UNPACKED_BYTES = 110_000_000


class Token(Protocol):
    """A morpheme: what is used of haqumei's `WordPhonemeDetail`."""

    pron: str
    pos: str
    pos_group1: str
    accent_nucleus: int
    chain_flag: int
    is_unknown: bool
    char_span: tuple[int, int]


class Reader(Protocol):
    """What is used of haqumei's `Haqumei`."""

    def g2p_mapping_detailed(self, text: str) -> list[Token]:
        """Morphemes in order; `char_span` are positions in `text`, of which no character may change in clean-up."""
        ...


def dictionary_folder() -> Path:
    """Where haqumei keeps its unpacked dictionary: below the user's cache folder of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
        return Path(base or Path.home() / "AppData" / "Local") / "haqumei"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "haqumei"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "haqumei"


def dictionary_ready() -> bool:
    """Whether the Japanese dictionary is unpacked already; if not, the first use takes some seconds and 103 MB."""
    return (dictionary_folder() / "decompressed" / "system.bin").is_file()


def open_dictionary() -> Reader:
    """The dictionary, unpacked first where that has not been done.

    Raises:
        DeviceError: haqumei is not installed (code ``missing_dependency``).
        OutputError: the cache folder cannot be written, or has not enough space (code ``cache_unwritable``).
    """
    try:
        module = importlib.import_module("haqumei")
    except ImportError as error:
        raise DeviceError(
            "Japanese needs the package haqumei: install it with `pip install haqumei`",
            code="missing_dependency",
            param="lang",
        ) from error
    _check_cache()
    if not dictionary_ready():
        _LOG.info("unpacking the Japanese dictionary into %s (103 MB, only once)", dictionary_folder())
    return cast(Reader, module.Haqumei())


def _check_cache() -> None:
    """haqumei aborts with a stack trace where it cannot write, so look before."""
    folder = dictionary_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise OutputError(
            f"the Japanese dictionary is unpacked into {folder}, which cannot be written ({error.strerror}): make it"
            " writable, or set XDG_CACHE_HOME to a folder that is",
            code="cache_unwritable",
        ) from error
    if free < _UNPACKED_BYTES and not dictionary_ready():
        raise OutputError(
            f"the Japanese dictionary needs 103 MB in {folder}, where {free // 1_000_000} MB are free: free some space,"
            " or set XDG_CACHE_HOME to another disk",
            code="cache_unwritable",
        )
