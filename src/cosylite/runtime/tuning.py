"""The fastest setting of this machine for a bundle: measured once by `cosylite tune`, remembered, used from then on.

A setting is an engine, a number of threads and the times of the flow. The engine and the threads do not change what is
said beyond rounding; fewer flow steps do, so every setting is also heard, and those beyond the budget are left out.
"""

import dataclasses
import itertools
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cosylite.errors import BundleError, OutputError
from cosylite.runtime import openvino_engine
from cosylite.runtime.bundle import Bundle, cache_folder
from cosylite.runtime.nano import NanoModel, Plan, Reading, Voicing, render_batch
from cosylite.runtime.stft import BINS, stft

FILE = "tuned.json"
READINGS = (" həlˈO, hˌW kæn ˌI hˈɛlp ju tədˈA? ", " ni↗xau↓, pa→ŋ ni↗n? ")
"""What is spoken while tuning, in phoneme symbols; any voice."""
_FLOOR = 1e-3


@dataclass(frozen=True)
class Setting:
    """How a bundle is run: `device` is that of all stages, `steps` the flow evaluations."""

    device: str
    threads: int
    steps: int


@dataclass(frozen=True)
class Trial:
    """A setting, its real-time factor and its distance: mean absolute difference of log spectra from the usual one."""

    setting: Setting
    rtf: float
    distance: float


def settings_here(bundle: Bundle, processors: int) -> list[Setting]:
    """What can be tried on this machine, the usual setting first."""
    own = len(bundle.manifest.flow.times) - 1
    engines = ["cpu", *openvino_engine.PRECISIONS] if openvino_engine.available() else ["cpu"]
    threads = sorted({1, 2, 4, processors} & set(range(1, processors + 1)), reverse=True)
    steps = [s for s in (own, 4, 2, 1) if s <= own]
    found = [Setting(e, t, s) for e, t, s in itertools.product(engines, threads, dict.fromkeys(steps))]
    return found


def tune(
    bundle: Bundle, settings: Sequence[Setting], budget: float, report: Callable[[Trial], None] = lambda _: None
) -> Trial:
    """The fastest setting within a distance of the first one.

    Raises:
        DeviceError: an engine cannot load the bundle.
        BundleError: none is within the budget.
    """
    readings = [r for r in (Reading(symbols, 0) for symbols in READINGS) if _can_say(bundle, r)]
    if not readings:
        raise BundleError("the bundle lacks the symbols that tuning speaks", code="unknown_symbol", param="bundle")
    wanted: list[NDArray[np.float32]] = []
    plans: list[Plan] = []
    best: Trial | None = None
    for setting in settings:
        model = tuned_model(bundle, setting)
        plans = plans or [model.plan([reading])[0] for reading in readings]
        said, rtf = _speak(model, readings, plans)
        wanted = wanted or said
        trial = Trial(setting, rtf, float(np.mean([np.abs(a - b).mean() for a, b in zip(said, wanted, strict=True)])))
        report(trial)
        if trial.distance <= budget and (best is None or trial.rtf < best.rtf):
            best = trial
    if best is None:
        raise BundleError("no setting was tried: the budget must be 0 or above", code="out_of_range", param="budget")
    return best


def _can_say(bundle: Bundle, reading: Reading) -> bool:
    return set(reading.symbols) <= set(bundle.manifest.symbols)


def tuned_model(bundle: Bundle, setting: Setting) -> NanoModel:
    """The bundle in a setting."""
    times = None
    if setting.steps != len(bundle.manifest.flow.times) - 1:
        times = tuple(i / setting.steps for i in range(setting.steps + 1))
    return NanoModel(bundle, device=setting.device, threads=setting.threads, times=times)


def _speak(
    model: NanoModel, readings: Sequence[Reading], plans: Sequence[Plan]
) -> tuple[list[NDArray[np.float32]], float]:
    """Log spectra of what is said with the durations of `plans`, and the best real-time factor of five rounds."""
    best, said = np.inf, list[NDArray[np.float32]]()
    for _ in range(5):
        start = time.perf_counter()
        said = []
        for reading, plan in zip(readings, plans, strict=True):
            own = dataclasses.replace(plan, states=model.plan([reading])[0].states)
            said.append(render_batch(model, [own], [Voicing()])[0])
        best = min(best, time.perf_counter() - start)
    seconds = sum(len(samples) for samples in said) / model.bundle.manifest.sample_rate
    return [_log_spectrum(samples) for samples in said], best / seconds


def _log_spectrum(samples: NDArray[np.float32]) -> NDArray[np.float32]:
    parts = stft(samples)
    size: NDArray[np.float32] = np.log(np.hypot(parts[:, :BINS], parts[:, BINS:]) + _FLOOR)
    return size


def machine() -> str:
    """What a remembered setting holds for: the processor and how many of them this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()} x {usable}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def remember(bundle: Bundle, trial: Trial) -> Path:
    """Keep a setting for this bundle and machine; returns the file.

    Raises:
        OutputError: the file cannot be written.
    """
    path = cache_folder() / FILE
    kept = _read(path)
    here = kept.get(bundle.manifest.revision)
    kept[bundle.manifest.revision] = (here if isinstance(here, dict) else {}) | {machine(): asdict(trial)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(kept, indent=1), "utf-8")
        os.replace(part, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}", code="write_failed") from error
    return path


def remembered(bundle: Bundle) -> Setting | None:
    """The setting that was found for this bundle on this machine; None where there is none that can be used."""
    path = cache_folder() / FILE
    if not path.is_file():
        return None
    try:
        setting = Setting(**_read(path)[bundle.manifest.revision][machine()]["setting"])
    except (TypeError, KeyError):
        return None
    return setting if _usable(setting) else None


def _usable(setting: Setting) -> bool:
    """Whether this machine can run a setting, which somebody may have written by hand."""
    numbers = (setting.threads, setting.steps)
    if not isinstance(setting.device, str) or any(type(number) is not int or number < 1 for number in numbers):
        return False
    return setting.device == "cpu" or (setting.device in openvino_engine.PRECISIONS and openvino_engine.available())


def _read(path: Path) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def table(trials: Iterable[Trial]) -> str:
    """Trials, fastest first."""
    lines = [f"{'engine':<14}{'threads':>8}{'steps':>6}{'rtf':>9}{'distance':>10}"]
    for t in sorted(trials, key=lambda t: t.rtf):
        lines.append(
            f"{t.setting.device:<14}{t.setting.threads:>8}{t.setting.steps:>6}{t.rtf:>9.4f}{t.distance:>10.3f}"
        )
    return "\n".join(lines)
