"""Statements with scope and validity: the record, its Markdown ledger, the rules, extraction."""
