"""How do files become stored chunks and vectors? `sync` is the orchestrator."""
