"""Audio values, encoders, resampling and filters."""
