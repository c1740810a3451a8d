"""Readings and phoneme symbols, one module per language."""
