"""What keeps a store fresh while others search it? The watcher and the worker."""
