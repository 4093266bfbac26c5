"""How is each report shown? One JSON shape and one text form per command."""
