"""Talks to servers over HTTP, for any vendor.

`connection` moves bytes, `retry` retries and explains failures, `server` knows address and key.
`provider`, `chat` and `batch` use them to embed, to ask a language model, and to embed in bulk.
"""
