"""How do people and programs reach a Memory? Thin shells: parse, call the façade, render."""
