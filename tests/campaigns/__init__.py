"""Long versions of suites: each module runs alone, as `python -m tests.campaigns.NAME`."""
