"""Text of the official families: their normalisation, their sentence splitting, their tokenizers."""
