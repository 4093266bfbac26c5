"""Who keeps the store fresh while others search it: the lease, the worker, the watcher."""
