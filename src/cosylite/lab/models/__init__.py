"""The networks: the three CosyVoice families, and nano."""
