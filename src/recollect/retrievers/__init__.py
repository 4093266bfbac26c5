"""How do other frameworks ask a Memory? One file a framework, each imported only by who uses it."""
