"""Fetches models from the Hugging Face hub or ModelScope, with resume and checksums. Standard library only."""

import fnmatch
import hashlib
import http.client
import json
import os
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args
from urllib.parse import quote, urlencode, urlsplit

from cosylite.errors import BundleError, InputError, OutputError
from cosylite.runtime.bundle import MANIFEST, cache_folder

Hub = Literal["huggingface", "modelscope"]
HUBS: tuple[Hub, ...] = get_args(Hub)
Progress = Callable[[str, int, int], None]
"""Is told the file, the bytes of all files that are here, and the bytes of all files."""

ADDRESSES: Mapping[Hub, str] = {"huggingface": "https://huggingface.co", "modelscope": "https://modelscope.cn"}
MODELS: Mapping[str, Mapping[Hub, str]] = {
    name: {"huggingface": f"FunAudioLLM/{repository}", "modelscope": f"{owner}/{repository}"}
    for name, owner, repository in (
        ("CosyVoice-300M", "iic", "CosyVoice-300M"),
        ("CosyVoice-300M-SFT", "iic", "CosyVoice-300M-SFT"),
        ("CosyVoice-300M-Instruct", "iic", "CosyVoice-300M-Instruct"),
        ("CosyVoice2-0.5B", "iic", "CosyVoice2-0.5B"),
        ("Fun-CosyVoice3-0.5B", "FunAudioLLM", "Fun-CosyVoice3-0.5B-2512"),
    )
}
"""Where the official models lie."""
SETTINGS = ("cosyvoice.yaml", "cosyvoice2.yaml", "cosyvoice3.yaml", "config.json")
"""A repository with one of these at its top is a model."""
WANTED = (
    *SETTINGS,
    *("llm.pt", "flow.pt", "hift.pt", "spk2info.pt", "campplus.onnx", "speech_tokenizer_v[123].onnx"),
    *(f"CosyVoice-BlankEN/{name}" for name in ("config.json", "vocab.json", "merges.txt")),
    *("README.md", "LICENSE*"),
)
"""The files of a model that are of use; releases hold much more."""

_TIMEOUT = 30.0
_BLOCK = 1 << 20
_ATTEMPTS = 5
_PAUSE = 0.5
_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_NETWORK = (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError, ssl.SSLError)


@dataclass(frozen=True)
class RemoteFile:
    """A file on a hub, with what the hub says about it."""

    path: str
    size: int
    url: str
    sha256: str | None = None
    git: str | None = None
    """The name that git gives to a file of this content; the Hugging Face hub has it for small files."""


def pull(name: str, hub: Hub = "huggingface", progress: Progress = lambda file, done, total: None) -> Path:
    """Fetch a model or bundle into the cache; what is there already is checked and kept, what was begun is continued.

    Args:
        name: one of `MODELS`, or OWNER/NAME on the hub.
        hub: where from. `COSYLITE_HUB_URL` is the address of a mirror that answers like it.

    Returns:
        The folder: `models/NAME` of the cache, or `bundles/NAME` for a bundle.

    Raises:
        InputError: an unknown name, or a bad `COSYLITE_HUB_URL`.
        BundleError: there is no such model, or a file does not match its checksum.
        OutputError: the hub cannot be reached, or the files cannot be written.
    """
    repository = repository_of(name, hub)
    files = {file.path: file for file in list_files(repository, hub)}
    try:
        if MANIFEST in files:
            return _pull_bundle(repository, files, progress)
        if not any(setting in files for setting in SETTINGS):
            raise BundleError(
                f"{repository} is neither a CosyVoice model nor a bundle:"
                f" it has none of {', '.join(SETTINGS)}, {MANIFEST}",
                code="wrong_family",
            )
        target = cache_folder() / "models" / PurePosixPath(repository).name
        wanted = [file for path, file in files.items() if any(fnmatch.fnmatchcase(path, w) for w in WANTED)]
        _fetch_all(wanted, target, progress)
        return target
    except OSError as error:
        raise OutputError(
            f"cannot write below {cache_folder()}: {error.strerror or error};"
            " free some space, or set COSYLITE_CACHE_DIR",
            code="write_failed",
        ) from error


def find_model(name: str) -> Path:
    """A model folder: `name` itself where it is one, else what was pulled under that name."""
    repository = MODELS[name]["huggingface"] if name in MODELS else name
    pulled = cache_folder() / "models" / PurePosixPath(repository).name
    return pulled if not Path(name).exists() and pulled.is_dir() else Path(name)


def repository_of(name: str, hub: Hub) -> str:
    """OWNER/NAME on the hub."""
    if name in MODELS:
        return MODELS[name][hub]
    owner, slash, rest = name.partition("/")
    if slash and all(part.strip(".") and quote(part, safe="") == part for part in (owner, rest)):
        return name
    raise InputError(
        f"unknown model {name!r}; give OWNER/NAME, or one of {', '.join(MODELS)}", code="unknown_model", param="name"
    )


def list_files(repository: str, hub: Hub) -> list[RemoteFile]:
    """All files of a repository."""
    base = _address(hub)
    if hub == "modelscope":
        url = f"{base}/api/v1/models/{repository}/repo/files?Revision=master&Recursive=true"
    else:
        url = f"{base}/api/models/{repository}?blobs=true"
    answer = _ask(url, repository)
    try:
        found = _modelscope(answer, base, repository) if hub == "modelscope" else _huggingface(answer, base, repository)
    except (KeyError, TypeError, AttributeError) as error:
        raise _no_hub(url) from error
    for file in found:
        path = PurePosixPath(file.path)
        if path.is_absolute() or ".." in path.parts or "\\" in file.path:
            raise BundleError(f"{repository} has a file of the unsafe name {file.path!r}", code="unsafe_name")
    return found


def _huggingface(answer: Any, base: str, repository: str) -> list[RemoteFile]:
    commit = answer["sha"]
    return [
        RemoteFile(
            entry["rfilename"],
            int(entry["size"]),
            f"{base}/{repository}/resolve/{quote(commit)}/{quote(entry['rfilename'])}",
            sha256=(entry.get("lfs") or {}).get("sha256"),
            git=None if entry.get("lfs") else entry.get("blobId"),
        )
        for entry in answer["siblings"]
    ]


def _modelscope(answer: Any, base: str, repository: str) -> list[RemoteFile]:
    where = f"{base}/api/v1/models/{repository}/repo?"
    return [
        RemoteFile(
            entry["Path"],
            int(entry["Size"]),
            where + urlencode({"Revision": "master", "FilePath": entry["Path"]}),
            sha256=entry.get("Sha256") or None,
        )
        for entry in answer["Data"]["Files"]
        if entry.get("Type") != "tree"
    ]


def _address(hub: Hub) -> str:
    """Address of the hub or its mirror."""
    chosen = os.environ.get("COSYLITE_HUB_URL")
    if not chosen:
        return ADDRESSES[hub]
    parts = urlsplit(chosen)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(
            f"COSYLITE_HUB_URL must be an address like https://hub.example, not {chosen!r}",
            code="bad_option",
            param="COSYLITE_HUB_URL",
        )
    return chosen.rstrip("/")


def _ask(url: str, repository: str) -> Any:
    def read() -> bytes:
        with _open(url) as reply:
            body: bytes = reply.read()
            return body

    body = _retried(read, url, repository)
    try:
        return json.loads(body)
    except ValueError as error:
        raise _no_hub(url) from error


def _no_hub(url: str) -> OutputError:
    return OutputError(
        f"{_host(url)} does not answer like a model hub; check COSYLITE_HUB_URL and --hub", code="bad_answer"
    )


def _pull_bundle(repository: str, files: Mapping[str, RemoteFile], progress: Progress) -> Path:
    """Fetch a bundle: the files that its manifest lists, and no others, because a bundle may not hold others."""
    target = cache_folder() / "bundles" / PurePosixPath(repository).name
    _fetch_all([files[MANIFEST]], target, progress)
    try:
        listed = json.loads((target / MANIFEST).read_text("utf-8"))["files"]
        wanted = [files[MANIFEST], *(files[name] for name in listed)]
    except (ValueError, KeyError, TypeError) as error:
        raise BundleError(f"{repository} is no complete bundle", code="bundle_damaged") from error
    _fetch_all(wanted, target, progress)
    for path in target.rglob("*"):
        if path.is_file() and path.relative_to(target).as_posix() not in {file.path for file in wanted}:
            path.unlink()
    return target


def _fetch_all(files: Sequence[RemoteFile], target: Path, progress: Progress) -> None:
    total, before = sum(file.size for file in files), 0
    target.mkdir(parents=True, exist_ok=True)
    missing = total - sum(_size(target / file.path) + _size(_part(target / file.path)) for file in files)
    if missing > shutil.disk_usage(target).free:
        raise OutputError(
            f"{missing / 1e9:.1f} GB are needed at {target}; free some space, or set COSYLITE_CACHE_DIR",
            code="disk_full",
        )
    for file in files:

        def told(done: int, file: RemoteFile = file, before: int = before) -> None:
            progress(file.path, before + done, total)

        _fetch(file, target / file.path, told)
        before += file.size
        progress(file.path, before, total)


def _fetch(file: RemoteFile, target: Path, told: Callable[[int], None]) -> None:
    """Bring one file to `target`; nothing is there under that name before it is whole and checked."""
    if _size(target) == file.size and _matches(file, target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _part(target)
    continued = _size(part) > 0
    _retried(lambda: _download(file, part, told), file.url, file.path)
    if not _matches(file, part):
        part.unlink()
        if continued:  # what was begun belonged to another version
            _fetch(file, target, told)
            return
        raise BundleError(
            f"{file.path} does not match the checksum of {_host(file.url)}; pull again, or try the other --hub",
            code="checksum",
            param=file.path,
        )
    part.replace(target)


def _download(file: RemoteFile, part: Path, told: Callable[[int], None]) -> None:
    """Continue `part` up to the size of the file."""
    start = _size(part)
    if start > file.size:
        part.unlink()
        start = 0
    if start == file.size and part.exists():
        return
    with _open(file.url, start) as reply:
        if start and reply.status != http.HTTPStatus.PARTIAL_CONTENT:
            start = 0
        with part.open("ab" if start else "wb") as out:
            while start < file.size and (block := reply.read(_BLOCK)):
                out.write(block)
                start += len(block)
                told(min(start, file.size))
    if start < file.size:
        raise ConnectionError("the connection ended early")


def _open(url: str, start: int = 0) -> Any:
    headers = {"User-Agent": "cosylite"} | ({"Range": f"bytes={start}-"} if start else {})
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)


def _retried(work: Callable[[], Any], url: str, wanted: str) -> Any:
    """Do it again while the network fails; raises `OutputError` or `BundleError` in the end."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return work()
        except _NETWORK as error:
            failure: Exception = error
            if isinstance(error, urllib.error.HTTPError):
                error.close()
                if error.code not in _TRANSIENT:
                    break
        if attempt < _ATTEMPTS:
            time.sleep(_PAUSE * attempt)
    if isinstance(failure, urllib.error.HTTPError) and failure.code in (401, 403, 404):
        raise BundleError(
            f"{_host(url)} has no public {wanted} (HTTP {failure.code}); check the name, or try the other --hub",
            code="no_such_model",
            param="name",
        ) from failure
    reason = failure.reason if isinstance(failure, urllib.error.URLError) else failure
    raise OutputError(
        f"cannot get {wanted} from {_host(url)} ({reason}): connect to the internet and pull again, which continues"
        " where it ended; or name a mirror in COSYLITE_HUB_URL; or copy the model here by other means"
        " and give its folder to `cosylite convert`",
        code="offline",
    ) from failure


def _host(url: str) -> str:
    return urlsplit(url).netloc


def _part(target: Path) -> Path:
    return target.with_name(target.name + ".part")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _matches(file: RemoteFile, path: Path) -> bool:
    """Whether a file has the size and the checksum that the hub states."""
    if path.stat().st_size != file.size:
        return False
    if file.sha256 is None and file.git is None:
        return True
    head = b"" if file.sha256 else f"blob {file.size}\0".encode()
    digest = hashlib.sha256() if file.sha256 else hashlib.sha1(usedforsecurity=False)
    digest.update(head)
    with path.open("rb") as data:
        while block := data.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest() == (file.sha256 or file.git)
