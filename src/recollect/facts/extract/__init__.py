"""How are facts extracted from files? Plan, ask a language model, check its answers."""
