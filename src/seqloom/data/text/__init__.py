"""Text: reading, normalisation, tokenizers, vocabularies, tag schemes."""
