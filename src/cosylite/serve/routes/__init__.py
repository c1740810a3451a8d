"""Routes of the HTTP and WebSocket interface."""
