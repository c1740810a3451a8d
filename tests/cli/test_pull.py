"""`cosylite pull` from a small hub that the tests run: both protocols, resume, checksums, and what goes wrong."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from cosylite import hub
from cosylite.cli import main
from cosylite.cli.pull import HUBS

REPOSITORIES = {"huggingface": "FunAudioLLM/CosyVoice2-0.5B", "modelscope": "iic/CosyVoice2-0.5B"}
BIG = bytes(range(256)) * 12_000
FILES = {
    "cosyvoice2.yaml": b"sample_rate: 24000\n",
    "llm.pt": BIG,
    "flow.pt": b"flow" * 1000,
    "CosyVoice-BlankEN/vocab.json": '{"词": 0}'.encode(),
    "CosyVoice-BlankEN/model.safetensors": b"not of use",
    "flow.decoder.estimator.fp32.onnx": b"not of use",
}
USEFUL = {"cosyvoice2.yaml", "llm.pt", "flow.pt", "CosyVoice-BlankEN/vocab.json"}


class LittleHub(ThreadingHTTPServer):
    """Answers like the Hugging Face hub and like ModelScope, and fails when told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(FILES)
        self.stated: dict[str, bytes] = {}
        """Content that the listing is about, where it is not what is sent."""
        self.cut_after: list[int] = []
        """The next transfers of llm.pt end after so many bytes."""
        self.failures: list[int] = []
        """Status codes of the next requests."""
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: LittleHub

    def do_GET(self) -> None:
        parts, query = urlsplit(self.path), parse_qs(urlsplit(self.path).query)
        if self.server.failures:
            self.send_error(self.server.failures.pop(0))
        elif parts.path == f"/api/models/{REPOSITORIES['huggingface']}":
            self._json({"sha": "c0ffee", "siblings": [self._sibling(path) for path in self.server.files]})
        elif parts.path == f"/api/v1/models/{REPOSITORIES['modelscope']}/repo/files":
            assert query["Recursive"] == ["true"]
            folder = {"Path": "CosyVoice-BlankEN", "Type": "tree", "Size": 0, "Sha256": ""}
            self._json({"Code": 200, "Data": {"Files": [folder, *map(self._entry, self.server.files)]}})
        elif parts.path == f"/api/v1/models/{REPOSITORIES['modelscope']}/repo":
            self._send(query["FilePath"][0])
        elif parts.path.startswith(f"/{REPOSITORIES['huggingface']}/resolve/c0ffee/"):
            self._send(parts.path.split("/c0ffee/")[1])
        else:
            self.send_error(404)

    def _content(self, path: str) -> bytes:
        return self.server.stated.get(path, self.server.files[path])

    def _sibling(self, path: str) -> dict[str, object]:
        content = self._content(path)
        git = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
        entry: dict[str, object] = {"rfilename": path, "size": len(content), "blobId": git}
        if path.endswith(".pt"):
            entry["lfs"] = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
            entry["blobId"] = "0" * 40  # of the pointer
        return entry

    def _entry(self, path: str) -> dict[str, object]:
        content = self._content(path)
        return {
            "Path": path,
            "Type": "blob",
            "Size": len(content),
            "Sha256": hashlib.sha256(content).hexdigest(),
        }

    def _json(self, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send(self, path: str) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append((path, wanted))
        body, start = self.server.files[path], 0
        if wanted and self.server.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut = self.server.cut_after.pop(0) if path == "llm.pt" and self.server.cut_after else len(body)
        self.wfile.write(body[start : start + cut])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COSYLITE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(hub, "_PAUSE", 0.0)
    return tmp_path / "cache"


@pytest.fixture
def little(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LittleHub]:
    server = LittleHub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("COSYLITE_HUB_URL", server.address + "/")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def files_below(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> None:
    out, err = capsys.readouterr()
    last = err.splitlines()[-1]
    assert last.startswith("cosylite: error: ") and not out
    for word in words:
        assert word in last


@pytest.mark.parametrize("kind", ["huggingface", "modelscope"])
def test_pull(kind: str, little: LittleHub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pull", "CosyVoice2-0.5B", "--hub", kind]) == 0
    folder = cache / "models" / "CosyVoice2-0.5B"
    assert files_below(folder) == {path: FILES[path] for path in USEFUL}
    out, err = capsys.readouterr()
    assert out == f"{folder}\n" and "100% of 3.1 MB" in err and f"cosylite convert {folder}" in err
    assert hub.find_model("CosyVoice2-0.5B") == folder
    little.asked.clear()
    assert main(["pull", REPOSITORIES[kind], "--hub", kind, "-q"]) == 0
    assert not little.asked and capsys.readouterr().err == ""


def test_a_dropped_connection_is_continued(little: LittleHub, cache: Path) -> None:
    little.cut_after, little.failures = [1_000_000, 5], [503]
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 0
    ranges = [wanted for path, wanted in little.asked if path == "llm.pt"]
    assert ranges == [None, "bytes=1000000-", "bytes=1000005-"]
    assert (cache / "models" / "CosyVoice2-0.5B" / "llm.pt").read_bytes() == BIG


def test_pull_later_continues(little: LittleHub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    little.cut_after = [700_000, 0, 0, 0, 0]
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 5
    failed(capsys, "llm.pt", "ended early", "continues")
    folder = cache / "models" / "CosyVoice2-0.5B"
    assert (folder / "llm.pt.part").stat().st_size == 700_000 and not (folder / "llm.pt").exists()
    little.asked.clear()
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 0
    assert ("llm.pt", "bytes=700000-") in little.asked
    assert files_below(folder) == {path: FILES[path] for path in USEFUL}


@pytest.mark.parametrize("ranges", [True, False])
def test_leftovers_of_another_version(ranges: bool, little: LittleHub, cache: Path) -> None:
    """A begun file of other content is begun again; a server without ranges sends everything."""
    folder = cache / "models" / "CosyVoice2-0.5B"
    folder.mkdir(parents=True)
    (folder / "llm.pt.part").write_bytes(b"other" * 1000)
    (folder / "flow.pt").write_bytes(b"older")
    little.ranges = ranges
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 0
    assert files_below(folder) == {path: FILES[path] for path in USEFUL}


def test_a_wrong_checksum(little: LittleHub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    little.stated["flow.pt"] = b"wolf" * 1000
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 3
    failed(capsys, "flow.pt", "checksum")
    assert not list((cache / "models" / "CosyVoice2-0.5B").glob("flow.pt*"))


def test_a_bundle(little: LittleHub, cache: Path) -> None:
    """A bundle comes without what its manifest does not list, and loses what an older one had."""
    manifest = json.dumps({"files": {"lm.onnx": {}}}).encode()
    little.files = {"bundle.json": manifest, "lm.onnx": b"graph", "README.md": b"card", ".gitattributes": b""}
    folder = cache / "bundles" / "CosyVoice2-0.5B"
    folder.mkdir(parents=True)
    (folder / "old.onnx").touch()
    assert main(["pull", "FunAudioLLM/CosyVoice2-0.5B", "-q"]) == 0
    assert files_below(folder) == {"bundle.json": manifest, "lm.onnx": b"graph"}
    little.files = {"bundle.json": manifest}
    assert main(["pull", "FunAudioLLM/CosyVoice2-0.5B", "-q"]) == 3


def test_help_names_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["pull", "--help"])
    text = capsys.readouterr().out
    assert all(name in text for name in hub.MODELS)
    assert HUBS == hub.HUBS


def test_unknown_names(little: LittleHub, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("CosyVoice9", "../etc/x", "a/b/c", "a/..", "a/"):
        assert main(["pull", name, "-q"]) == 2
        failed(capsys, "unknown model", "CosyVoice-300M-SFT")
    assert main(["pull", "someone/nothing", "-q"]) == 3
    failed(capsys, "someone/nothing", "404", "--hub")
    little.files = {"weights.bin": b""}
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 3
    failed(capsys, "neither a CosyVoice model nor a bundle")
    little.files = {"cosyvoice2.yaml": b"", "../outside": b""}
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 3
    failed(capsys, "unsafe name")


def test_offline(cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    server = LittleHub()
    monkeypatch.setenv("COSYLITE_HUB_URL", server.address)
    server.server_close()
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 5
    failed(capsys, "cannot get", "COSYLITE_HUB_URL", "cosylite convert")
    monkeypatch.setenv("COSYLITE_HUB_URL", "file:///etc")
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 2
    failed(capsys, "COSYLITE_HUB_URL must be an address")


def test_not_a_hub(little: LittleHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(Handler, "_sibling", lambda self, path: {})
    little.files = {"x": b""}
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 5
    failed(capsys, "does not answer like a model hub")


def test_a_full_disk(little: LittleHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 10}))
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 5
    failed(capsys, "GB are needed", "COSYLITE_CACHE_DIR")


def test_a_cache_that_is_a_file(little: LittleHub, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache.write_text("")
    assert main(["pull", "CosyVoice2-0.5B", "-q"]) == 5
    failed(capsys, "cannot write", "COSYLITE_CACHE_DIR")
