"""nano: the bundled multilingual student of Kokoro-82M. Corpus, teacher, networks, training and export."""
