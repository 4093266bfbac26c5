"""How are many texts embedded at a vendor's leisure, for less? The Batch APIs, one file a vendor.

Texts are handed in as a file, one a line, and the vectors are fetched hours later. What all
vendors share is in `filed.py`; a vendor's own file says how it words lines, batches and answers.
"""
