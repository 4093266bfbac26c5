"""Models on this machine: which ones are known, where their files come from, how a BERT runs."""
