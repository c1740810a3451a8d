"""What the flow needs to know of its time, worked out once."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from cosylite.runtime.sessions import Stage

Array = NDArray[np.float32]


class FlowTimes:
    """What the estimator needs to know of the flow time, worked out once for every time.

    Most sentences use the same few times, so the graph is loaded for a moment only; its weights are a third of the flow
    of v3.
    """

    _MOST = 256

    def __init__(self, load: Callable[[], Stage]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._known: dict[float, Array] = {}

    def prepare(self, times: Sequence[float]) -> None:
        """Work out what is missing, together."""
        with self._lock:
            self._learn(times)

    def at(self, time: float) -> Array:
        """For one time."""
        with self._lock:
            self._learn([time])
            return self._known[time]

    def _learn(self, times: Sequence[float]) -> None:
        missing = [time for time in times if time not in self._known]
        if not missing:
            return
        if len(self._known) >= self._MOST:
            self._known.clear()
        steps = self._load().run(["steps"], {"time": np.array(missing, np.float32)})[0]
        self._known |= zip(missing, steps, strict=True)
