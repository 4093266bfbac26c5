"""What is held to be true, for whom, since when, on whose word? record, ledger, rules, decay."""
