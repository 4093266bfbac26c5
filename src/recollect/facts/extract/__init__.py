"""Extracts facts from files: plan what to send, ask a language model, check its answers."""
