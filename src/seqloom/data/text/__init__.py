"""Text: decoding of files, normalisation, tokenizers, vocabularies, tag schemes, embeddings."""
