"""How does an agent's host reach the memory by MCP? Tools and resources over stdio or HTTP."""
