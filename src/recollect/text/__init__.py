"""Characters, terms and sizes of a text; globs; redaction; safe output. The same everywhere."""
