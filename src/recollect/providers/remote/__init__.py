"""Talks to servers over HTTP, for any vendor.

`connection` moves bytes, `refusal` reads why a server refuses, `server` knows address and key,
tries again and explains failures. `provider` and `chat` embed, and ask a language model.
"""
