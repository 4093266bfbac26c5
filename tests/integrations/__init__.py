"""Real agents against Recollect; the stand-in for the model they would ask."""
