"""How do files become stored chunks? walk, read, date, chunk, plan, embed: one file a step."""
