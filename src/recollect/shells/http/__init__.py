"""The HTTP API and the web page: one table of operations, validated, described and served."""
