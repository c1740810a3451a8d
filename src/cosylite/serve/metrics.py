"""Prometheus metrics of one app, in a registry of its own so that several apps in one process stay apart."""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

from cosylite import __version__

_LATENCY = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.4, 0.6, 1.0, 2.0, 5.0, 10.0, 30.0)
_RTF = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 4.0)
_ROWS = (1, 2, 4, 8, 16, 32)


class Metrics:
    """All metrics; names and labels are part of the interface (see docs/http.md)."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self.requests = counter("cosylite_requests", "Finished requests", ("model", "endpoint", "format", "outcome"))
        self.http = counter("cosylite_http_responses", "HTTP answers by status", ("method", "status"))
        self.running = gauge("cosylite_requests_running", "Requests that hold a place")
        self.waiting = gauge("cosylite_requests_waiting", "Requests that wait for a place")
        self.jobs = gauge("cosylite_segments_open", "Segments that are being spoken")
        self.sockets = gauge("cosylite_sockets_open", "Open WebSocket sessions")
        self.queue_seconds = histogram("cosylite_queue_seconds", "Wait for a place", ("model",), buckets=_LATENCY)
        self.first_audio = histogram(
            "cosylite_time_to_first_audio_seconds", "Request to first audio", ("model",), buckets=_LATENCY
        )
        self.request_seconds = histogram(
            "cosylite_request_seconds", "Request to last audio", ("model",), buckets=_LATENCY
        )
        self.stage_seconds = histogram("cosylite_stage_seconds", "Time in a stage", ("stage",), buckets=_LATENCY)
        self.real_time_factor = histogram(
            "cosylite_real_time_factor",
            "Request time by audio time, answers from the cache left out",
            ("model",),
            buckets=_RTF,
        )
        self.batch_size = histogram("cosylite_batch_size", "Rows in one run", ("stage",), buckets=_ROWS)
        self.tokens = counter("cosylite_tokens", "Speech tokens drawn by models that decode", ("model",))
        self.audio_seconds = counter("cosylite_audio_seconds", "Audio sent", ("model",))
        self.characters = counter("cosylite_input_characters", "Characters spoken", ("model",))
        self.cache_hits = counter("cosylite_cache_hits", "Segments found in the cache")
        self.cache_misses = counter("cosylite_cache_misses", "Segments not found in the cache")
        self.cache_shared = counter("cosylite_cache_shared", "Segments that another request was making")
        self.cache_bytes = gauge("cosylite_cache_bytes", "Size of the cache", ("tier",))
        self.stalls = counter("cosylite_stream_stalls", "Readers that were given up because they took nothing")
        self.disconnects = counter("cosylite_disconnects", "Clients that left before the end")
        self.loaded = gauge("cosylite_model_loaded", "1 while the bundle is in memory", ("model", "revision"))
        self.batching = gauge("cosylite_batching", "1 where dynamic batching is on", ("model",))
        Info("cosylite_build", "Version", registry=self.registry).info({"version": __version__})

    def render(self) -> bytes:
        """The text exposition."""
        return generate_latest(self.registry)
