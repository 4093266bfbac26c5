"""Programs for those who build and check Recollect; not part of the package."""
