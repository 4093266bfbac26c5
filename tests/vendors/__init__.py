"""Stand-ins for embedding vendors: real HTTP servers on loopback that speak their formats."""
