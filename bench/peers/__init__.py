"""How good and how fast are the real programs of others on the sets of the repository?"""
