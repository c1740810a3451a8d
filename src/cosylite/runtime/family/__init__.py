"""What surrounds the networks of the official families: sampling, decoding, flow times, chunks, excitation. NumPy only."""
