"""How is each report printed? One JSON shape and one text form per command; files as in cli/."""
