"""From written text to phoneme symbols: language spans, normalisation, sentences, readings. Knows nothing of models."""
