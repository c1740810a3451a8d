"""Machine judges of speech: a recogniser, predictors of opinion scores, voice likeness."""
