"""Export: torch weights, CTranslate2, ARPA."""
