"""Who turns texts into vectors? One protocol, one file a provider, and the chain that chooses."""
