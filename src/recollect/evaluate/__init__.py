"""How good is the search on one's own questions? Which settings would be better? Measured here."""
