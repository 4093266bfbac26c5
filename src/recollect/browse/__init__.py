"""What does a memory hold as a whole? `overview` shows it, `recall` puts it in front of a turn."""
