"""Loaded bundles, the names under which callers reach them, and their life: load, switch, roll back, idle unload.

A request leases a deployment and keeps it to its end, whatever happens to the names meanwhile. Lives on the event
loop; loading and closing run in threads.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cosylite.errors import InputError
from cosylite.serve.engine import Engine
from cosylite.serve.errors import ServeError
from cosylite.serve.scheduler import BatchPolicy

LOG = logging.getLogger(__name__)
OPENAI_MODELS = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts")


@dataclass(eq=False)
class Deployment:
    """One bundle that the operator configured, in memory or not.

    `name` is the name it was configured under, `source` what the loader is given.
    """

    name: str
    source: str
    engine: Engine | None = None
    policy: BatchPolicy = field(default_factory=lambda: BatchPolicy(False, 0.0, 1))
    leases: int = 0
    last_used: float = 0.0
    created: int = 0
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def ready(self) -> Engine:
        """The engine; only for holders of a lease."""
        if self.engine is None:
            raise ServeError(f"the model {self.name} is not loaded", status=503, code="model_loading", retry_after=2)
        return self.engine


@dataclass
class Alias:
    """A public name and the deployments it pointed to, the current one last."""

    history: list[Deployment]

    @property
    def current(self) -> Deployment:
        """Where the name points now."""
        return self.history[-1]


class Registry:
    """All deployments of a server.

    Args:
        bundles: the `bundle` setting.
        load: makes a warmed-up engine and its batching policy; blocking.
        idle_seconds: unload what nobody used for so long; 0: never.
        on_change: called after a bundle was loaded or unloaded.
    """

    def __init__(
        self,
        bundles: tuple[str, ...],
        load: Callable[[str], tuple[Engine, BatchPolicy]],
        idle_seconds: float,
        on_change: Callable[[Deployment, Engine, bool], None],
    ) -> None:
        self._load = load
        self._idle_seconds = idle_seconds
        self._on_change = on_change
        self._deployments: dict[str, Deployment] = {}
        self._aliases: dict[str, Alias] = {}
        for entry in bundles:
            name, source = parse_bundle(entry)
            if name in self._deployments or name in OPENAI_MODELS:
                raise InputError(
                    f"the bundle name {name!r} is taken; write --bundle ALIAS={source}",
                    code="invalid_setting",
                    param="bundle",
                )
            self._deployments[name] = Deployment(name, source)
            self._aliases[name] = Alias([self._deployments[name]])
        self.default = next(iter(self._aliases))

    @property
    def aliases(self) -> dict[str, Deployment]:
        """Public names and where they point, the default first."""
        return {name: alias.current for name, alias in self._aliases.items()}

    @property
    def deployments(self) -> list[Deployment]:
        """All configured bundles."""
        return list(self._deployments.values())

    def resolve(self, model: str | None) -> str:
        """The public name for what a request asks for.

        Raises:
            ServeError: 404 for an unknown name.
        """
        if model is None or model in OPENAI_MODELS:
            return self.default
        if model in self._aliases:
            return model
        known = ", ".join([*self._aliases, *OPENAI_MODELS])
        raise ServeError(
            f"the model {model[:80]!r} does not exist; known are {known}",
            status=404,
            code="model_not_found",
            param="model",
        )

    async def acquire(self, model: str | None) -> Deployment:
        """Lease the deployment behind a name, loading it if it was unloaded. Answer with `release`."""
        deployment = self._aliases[self.resolve(model)].current
        deployment.leases += 1
        try:
            await self.ensure_loaded(deployment)
        except BaseException:
            deployment.leases -= 1
            raise
        return deployment

    def hold(self, deployment: Deployment) -> None:
        """One more lease on a deployment that is leased already."""
        deployment.leases += 1

    def release(self, deployment: Deployment) -> None:
        """Return a lease."""
        deployment.leases -= 1
        deployment.last_used = time.monotonic()

    async def ensure_loaded(self, deployment: Deployment) -> None:
        """Load the bundle unless it is in memory."""
        if deployment.engine is not None:
            return
        async with deployment.loading:
            if deployment.engine is not None:
                return
            engine, policy = await asyncio.to_thread(self._load, deployment.source)
            deployment.engine, deployment.policy = engine, policy
            deployment.created = int(time.time())
            deployment.last_used = time.monotonic()
            self._on_change(deployment, engine, True)

    def policy_of(self, engine: Engine) -> BatchPolicy:
        """The batching policy of a loaded engine. Called from worker threads."""
        for deployment in list(self._deployments.values()):
            if deployment.engine is engine:
                return deployment.policy
        return BatchPolicy(False, 0.0, 1)

    def name_of(self, engine: Engine) -> str:
        """The name under which a loaded engine was configured. Called from worker threads."""
        for deployment in list(self._deployments.values()):
            if deployment.engine is engine:
                return deployment.name
        return engine.name

    async def switch(self, alias: str, target: str) -> Deployment:
        """Point a name to another configured bundle; running requests keep what they have."""
        if alias not in self._aliases:
            raise ServeError(
                f"there is no alias {alias[:80]!r}; known are {', '.join(self._aliases)}",
                status=404,
                code="model_not_found",
                param="alias",
            )
        deployment = self._deployments.get(target)
        if deployment is None:
            raise ServeError(
                f"there is no bundle {target[:80]!r}; configured are {', '.join(self._deployments)}",
                status=404,
                code="model_not_found",
                param="target",
            )
        await self.ensure_loaded(deployment)
        entry = self._aliases[alias]
        if entry.current is not deployment:
            entry.history.append(deployment)
            del entry.history[:-10]
        return deployment

    async def roll_back(self, alias: str) -> Deployment:
        """Point a name to where it pointed before the last switch."""
        entry = self._aliases.get(alias)
        if entry is None:
            raise ServeError(
                f"there is no alias {alias[:80]!r}; known are {', '.join(self._aliases)}",
                status=404,
                code="model_not_found",
                param="alias",
            )
        if len(entry.history) < 2:
            raise ServeError(
                f"the alias {alias!r} was never switched", status=409, code="nothing_to_roll_back", param="alias"
            )
        await self.ensure_loaded(entry.history[-2])
        entry.history.pop()
        return entry.current

    async def unload_idle(self) -> None:
        """Free what nobody used for long enough; call it now and then."""
        if self._idle_seconds <= 0:
            return
        for deployment in self._deployments.values():
            idle = time.monotonic() - deployment.last_used
            if deployment.engine is not None and deployment.leases == 0 and idle > self._idle_seconds:
                await self._unload(deployment)

    async def close(self) -> None:
        """Free everything."""
        for deployment in self._deployments.values():
            if deployment.engine is not None:
                await self._unload(deployment)

    async def _unload(self, deployment: Deployment) -> None:
        engine = deployment.engine
        if engine is None:
            return
        deployment.engine = None
        self._on_change(deployment, engine, False)
        await asyncio.to_thread(engine.close)
        LOG.info("unloaded %s", deployment.name)


def parse_bundle(entry: str) -> tuple[str, str]:
    """Split `ALIAS=SOURCE`; a bare source is its own alias, a folder goes by its last part."""
    alias, sep, source = entry.partition("=")
    if not sep:
        alias, source = entry.rstrip("/").rpartition("/")[2], entry
    if not alias or not source or not all(char.isalnum() or char in "._-" for char in alias):
        raise InputError(
            f"--bundle must be NAME or ALIAS=NAME-OR-FOLDER, got {entry!r}", code="invalid_setting", param="bundle"
        )
    return alias, source
