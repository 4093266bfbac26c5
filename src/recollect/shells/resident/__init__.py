"""An optional process that stays after a search, with everything loaded, and answers the next ones.

`client` hands a command over, `server` runs it as the command line does, `wire` is what both know.
"""
