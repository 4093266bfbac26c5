"""Many memories of one store: who may use them, and who keeps them up to date."""
