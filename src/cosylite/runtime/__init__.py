"""Runs bundles with NumPy and ONNX Runtime. Never imports torch."""
