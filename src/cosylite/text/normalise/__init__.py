"""Written forms (numbers, dates, units, ...) to spoken words, one module per language."""
