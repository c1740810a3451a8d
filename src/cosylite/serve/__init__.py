"""The HTTP, SSE and WebSocket service."""
