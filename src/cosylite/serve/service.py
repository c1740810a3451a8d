"""The service: everything that routes and protocols share, wired together. One per app."""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from cosylite.serve.admission import Admission
from cosylite.serve.cache import Cache
from cosylite.serve.disk import DiskTier
from cosylite.serve.engine import Engine
from cosylite.serve.logs import request_id
from cosylite.serve.metrics import Metrics
from cosylite.serve.registry import Deployment, Registry
from cosylite.serve.scheduler import BatchPolicy, Observer, Scheduler
from cosylite.serve.settings import Settings
from cosylite.serve.speech import FrontendPool, Order, Speech, SpeechParts
from cosylite.serve.takes import TakeShop
from cosylite.serve.telemetry import Telemetry
from cosylite.serve.voices import VoiceStore
from cosylite.serve.warmup import measure_batching, warm_up

LOG = logging.getLogger(__name__)
LoadEngine = Callable[[str, Settings], Engine]
IDLE_CHECK_SECONDS = 5.0


class Service:
    """Owns the parts; `start` and `stop` belong to the lifespan of the app.

    Args:
        settings: the settings.
        load_engine: makes an engine from a bundle source; blocking.

    Raises:
        CosyliteError: a folder of the settings is not usable, or bundle names clash.
    """

    def __init__(self, settings: Settings, load_engine: LoadEngine) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self.voices = VoiceStore(settings.voices_dir, settings.max_voices)
        self.admission = Admission(settings.max_running, settings.max_waiting, settings.max_wait_seconds)
        disk = None
        if settings.cache_dir and settings.cache_seconds > 0 and settings.cache_disk_bytes > 0:
            disk = DiskTier(Path(settings.cache_dir) / "audio", settings.cache_disk_bytes, settings.cache_seconds)
        self.cache = Cache(settings.cache_memory_bytes, settings.cache_seconds, disk)
        self.registry = Registry(settings.bundle, self._load, settings.idle_unload_seconds, self._on_change)
        self.frontend = FrontendPool()
        self._telemetry = Telemetry(settings.telemetry)
        self.failure: BaseException | None = None
        self.warm = False
        self.sockets = 0
        self._load_engine = load_engine
        self._tasks: set[asyncio.Task[None]] = set()
        self._scheduler: Scheduler | None = None
        self._parts: SpeechParts | None = None
        self._speeches = 0
        self._full_since: float | None = None
        self.on_failure: Callable[[BaseException], None] = lambda error: None

    @property
    def workers(self) -> int:
        """Synthesis threads."""
        return self.settings.workers or max(1, _processors() // self.settings.threads)

    @property
    def active(self) -> int:
        """Requests in flight, waiting ones included."""
        return self._speeches

    @property
    def ready(self) -> bool:
        """Warmed up, not draining, and able to take another request."""
        if self.admission.full:
            self._full_since = self._full_since or time.monotonic()
        else:
            self._full_since = None
        stuck = self._full_since is not None and time.monotonic() - self._full_since > 5.0
        return self.warm and not self.admission.draining and not stuck

    async def start(self) -> None:
        """Start the workers, and load and warm up the bundles in the background."""
        observer = Observer(
            batch=lambda stage, rows: self.metrics.batch_size.labels(stage).observe(rows),
            step_seconds=lambda stage, seconds: self.metrics.stage_seconds.labels(stage).observe(seconds),
            tokens=lambda engine, count: self.metrics.tokens.labels(self.registry.name_of(engine)).inc(count),
        )
        self._scheduler = Scheduler(self.workers, self.registry.policy_of, observer)
        shop = TakeShop(self._scheduler, self.cache, self.registry, self.metrics)
        self._parts = SpeechParts(self.settings, self.admission, shop, self.metrics, self.frontend)
        for work in (self._load_all(), self._watch_idle()):
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(self._loaded)

    async def stop(self) -> None:
        """End everything; requests that still run fail."""
        self.admission.draining = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._scheduler is not None:
            await asyncio.to_thread(self._scheduler.stop_threads)
            self._scheduler.close()
        await self.cache.close()
        await self.registry.close()

    @contextlib.asynccontextmanager
    async def lease(self, model: str | None) -> AsyncIterator[Deployment]:
        """A deployment for the time of the block."""
        deployment = await self.registry.acquire(model)
        try:
            yield deployment
        finally:
            self.registry.release(deployment)

    @contextlib.asynccontextmanager
    async def speak(self, deployment: Deployment, order: Order) -> AsyncIterator[Speech]:
        """Carry out an order on a leased deployment; entering waits for the first audio."""
        if self._parts is None:
            raise RuntimeError("the service is not started")
        self._speeches += 1
        facts: dict[str, str | int] = {"model": order.model, "endpoint": order.endpoint, "characters": len(order.text)}
        try:
            with self._telemetry.span("speech", request_id=request_id.get(), **facts) as span:
                async with Speech(self._parts, deployment, order, time.monotonic()) as speech:
                    yield speech
                if span is not None:
                    span.set_attribute("cosylite.first_audio_seconds", speech.first_audio_seconds)
                    span.set_attribute("cosylite.audio_seconds", speech.audio_seconds)
        finally:
            self._speeches -= 1

    def update_gauges(self) -> None:
        """Bring the gauges up to date; called before metrics are rendered."""
        metrics = self.metrics
        metrics.running.set(self.admission.running)
        metrics.waiting.set(self.admission.waiting)
        metrics.jobs.set(self._scheduler.open_jobs if self._scheduler else 0)
        metrics.sockets.set(self.sockets)
        metrics.cache_bytes.labels("memory").set(self.cache.memory_size)
        metrics.cache_bytes.labels("disk").set(self.cache.disk_size)

    def _load(self, source: str) -> tuple[Engine, BatchPolicy]:
        engine = self._load_engine(source, self.settings)
        seconds = warm_up(engine)
        policy, ratio = measure_batching(engine, self.settings)
        LOG.info(
            "loaded %s (%s) from %s, %d voices, warm-up %.2f s; batching %s (a row in a batch takes %s of a row alone)",
            engine.name,
            engine.revision,
            source,
            len(engine.voices),
            seconds,
            "on" if policy.on else "off",
            "not measured" if ratio is None else f"{ratio:.2f}",
        )
        return engine, policy

    def _on_change(self, deployment: Deployment, engine: Engine, loaded: bool) -> None:
        self.metrics.loaded.labels(deployment.name, engine.revision).set(1 if loaded else 0)
        self.metrics.batching.labels(deployment.name).set(1 if deployment.policy.on else 0)

    async def _load_all(self) -> None:
        for deployment in self.registry.deployments:
            await self.registry.ensure_loaded(deployment)
        self.warm = True
        aliases = ", ".join(self.registry.aliases)
        LOG.info("ready: models %s, %d workers of %d threads", aliases, self.workers, self.settings.threads)

    def _loaded(self, task: asyncio.Task[None]) -> None:
        """Whatever went wrong, the process must end with it instead of never being ready."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failure = error
            self.on_failure(error)

    async def _watch_idle(self) -> None:
        while True:
            await asyncio.sleep(min(IDLE_CHECK_SECONDS, self.settings.idle_unload_seconds or IDLE_CHECK_SECONDS))
            await self.registry.unload_idle()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
