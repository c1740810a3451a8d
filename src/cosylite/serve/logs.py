"""Logs: one line per event, as text or JSON, with the id of the request that caused it."""

import contextvars
import json
import logging
import sys
import time
from typing import Any

request_id: contextvars.ContextVar[str] = contextvars.ContextVar("cosylite_request_id", default="-")
"""Id of the request that the current task serves."""

_ACCESS = logging.getLogger("cosylite.access")


class _WithRequest(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "request_id": getattr(record, "request_id", "-"),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def set_up_logs(level: str, form: str) -> None:
    """Send the logs of cosylite and uvicorn to standard error. For the process of the server only."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_WithRequest())
    text = "%(asctime)s %(levelname)-7s %(name)s [%(request_id)s] %(message)s"
    handler.setFormatter(_JsonLines() if form == "json" else logging.Formatter(text))
    for name in ("cosylite", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.propagate = False
        logger.setLevel(level.upper())


def log_access(method: str, path: str, status: int, seconds: float) -> None:
    """One line per HTTP request. Paths carry no query, so no key given there is logged."""
    fields = {"method": method, "path": path, "status": status, "seconds": round(seconds, 4)}
    quiet = path.startswith(("/health", "/metrics"))
    _ACCESS.log(
        logging.DEBUG if quiet else logging.INFO,
        "%s %s %d %.3fs",
        method,
        path,
        status,
        seconds,
        extra={"fields": fields},
    )
