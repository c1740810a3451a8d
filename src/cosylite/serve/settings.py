"""Settings of the service: one frozen value, read from flags, environment and a TOML file.

A flag wins over the environment (`COSYLITE_<FLAG>`), the environment over the file (`--config`), the file over the
defaults here. Unknown names are refused everywhere, and the message lists the known ones.
"""

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from cosylite.errors import InputError

LOG_LEVELS = ("debug", "info", "warning", "error")
SWITCH = ("auto", "on", "off")


def _option(default: Any, text: str, **limits: Any) -> Any:
    return field(default=default, metadata={"help": text, **limits})


@dataclass(frozen=True)
class Settings:
    """Everything an operator can choose. Times are seconds, sizes are bytes unless the name says otherwise.

    Raises:
        InputError: a value is out of range; `param` names the setting.
    """

    bundle: tuple[str, ...] = _option(
        ("nano",), "bundle to serve, NAME or ALIAS=NAME-OR-FOLDER; repeat for several, the first one is the default"
    )
    host: str = _option("127.0.0.1", "address to listen on")
    port: int = _option(8000, "port to listen on; 0 lets the system choose", low=0, high=65535)
    root_path: str = _option("", "path prefix under which a reverse proxy shows the service, such as /tts")
    api_key: tuple[str, ...] = _option((), "key that callers must send; repeat for several; none: open to everyone")
    admin_key: tuple[str, ...] = _option((), "key for the routes that switch model revisions; none: routes are off")
    rate_limit: int = _option(0, "requests a minute per key (per address without keys); 0: no limit", low=0)
    cors_origin: tuple[str, ...] = _option((), "web origin allowed to call from a browser; repeat for several")
    device: str = _option("auto", "device for the engine, as in cosylite.TTS")
    workers: int = _option(0, "synthesis threads; 0: one per processor", low=0, high=256)
    threads: int = _option(1, "threads inside one step of the engine", low=1, high=256)
    max_running: int = _option(64, "requests that are synthesised at the same time", low=1)
    max_waiting: int = _option(256, "requests that may wait for a free place; more are refused with 429", low=0)
    max_wait_seconds: float = _option(10.0, "longest wait for a place; then 503", low=0.0)
    deadline_seconds: float = _option(30.0, "longest time to the first audio; then 504", low=0.1)
    ahead_seconds: float = _option(10.0, "audio made ahead of what the reader took", low=0.5)
    stall_seconds: float = _option(30.0, "a reader that takes nothing for so long is disconnected", low=0.1)
    drain_seconds: float = _option(30.0, "time that running requests get after SIGTERM", low=0.0)
    idle_seconds: float = _option(120.0, "a WebSocket without messages is closed after this", low=1.0)
    header_seconds: float = _option(30.0, "a connection must send its first request within this", low=0.1)
    max_sockets: int = _option(256, "WebSocket sessions at the same time", low=1)
    max_characters: int = _option(4096, "longest input text", low=1, high=1_000_000)
    max_body_bytes: int = _option(1 << 20, "largest request body except voice uploads", low=1024)
    max_upload_bytes: int = _option(10 << 20, "largest voice upload", low=1024)
    max_voices: int = _option(100, "voices that may be added", low=0)
    voices_dir: str = _option("", "folder in which added voices are kept; empty: adding voices is off")
    batching: str = _option(
        "auto", "synthesise whole sentences, or draw the tokens, of several requests in one run", choices=SWITCH
    )
    batch_window_seconds: float = _option(0.005, "longest wait for companions of a batch", low=0.0, high=1.0)
    batch_rows: int = _option(8, "most sentences in one batch or decoding step", low=1, high=256)
    cache_dir: str = _option("", "folder of the disk cache; empty: memory only")
    cache_seconds: float = _option(7200.0, "lifetime of cached audio; 0: no cache", low=0.0)
    cache_memory_bytes: int = _option(64 << 20, "size of the memory cache", low=0)
    cache_disk_bytes: int = _option(1 << 30, "size of the disk cache", low=0)
    idle_unload_seconds: float = _option(0.0, "unload a bundle that nobody used for so long; 0: never", low=0.0)
    wyoming: str = _option("", "HOST:PORT or PORT of the Wyoming protocol for Home Assistant; empty: off")
    page: bool = _option(True, "serve the web page at /")
    docs: bool = _option(True, "serve /docs and /openapi.json")
    telemetry: bool = _option(False, "OpenTelemetry spans (needs opentelemetry-api)")
    log_level: str = _option("info", "log level", choices=LOG_LEVELS)
    log_format: str = _option("text", "log format", choices=("text", "json"))

    def __post_init__(self) -> None:
        for spec in dataclasses.fields(self):
            _check(spec, getattr(self, spec.name))
        if not self.bundle:
            raise InputError("give at least one --bundle", code="invalid_setting", param="bundle")
        if self.root_path and not re.fullmatch(r"(/[\w.~-]+)+", self.root_path):
            raise InputError(
                f"--root-path must look like /tts, got {self.root_path!r}", code="invalid_setting", param="root_path"
            )
        if "*" in self.cors_origin and (self.api_key or self.admin_key):
            raise InputError(
                "--cors-origin * cannot be combined with keys: name the origins",
                code="invalid_setting",
                param="cors_origin",
            )
        for key in (*self.api_key, *self.admin_key):
            if len(key) < 8 or not key.isascii() or not key.isprintable():
                raise InputError(
                    "keys need at least 8 printable ASCII characters", code="invalid_setting", param="api_key"
                )
        if self.wyoming:
            self.wyoming_address()

    def wyoming_address(self) -> tuple[str, int]:
        """Host and port of the Wyoming listener.

        Raises:
            InputError: the setting is not `PORT` or `HOST:PORT`.
        """
        host, _, port = self.wyoming.removeprefix("tcp://").rpartition(":")
        if not port.isdecimal() or int(port) > 65535:
            raise InputError(
                f"--wyoming must be PORT or HOST:PORT, got {self.wyoming!r}", code="invalid_setting", param="wyoming"
            )
        return host or self.host, int(port)


def setting_names() -> tuple[str, ...]:
    """Names of all settings, in the order of the dataclass."""
    return tuple(spec.name for spec in dataclasses.fields(Settings))


def flag(name: str) -> str:
    """The command-line spelling of a setting."""
    return "--" + name.replace("_", "-")


def _check(spec: "dataclasses.Field[Any]", value: Any) -> None:
    limits = spec.metadata
    if "choices" in limits and value not in limits["choices"]:
        raise InputError(
            f"{flag(spec.name)} must be one of {', '.join(limits['choices'])}, got {value!r}",
            code="invalid_setting",
            param=spec.name,
        )
    low, high = limits.get("low"), limits.get("high")
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InputError(f"{flag(spec.name)} must be {bounds}, got {value}", code="invalid_setting", param=spec.name)
