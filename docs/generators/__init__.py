"""The pages that come from the code: one file a page, each a function that returns its text."""
