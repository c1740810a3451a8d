"""Networks, training, compression and export (PyTorch). Never imported by runtime or serve."""
