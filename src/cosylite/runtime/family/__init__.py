"""What surrounds the official networks: sampling, decoding, flow times, chunks, excitation. NumPy only."""
