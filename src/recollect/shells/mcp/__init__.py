"""How does an agent's host reach the memory by MCP? Tools over stdio or HTTP."""
