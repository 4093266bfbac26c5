"""The engines that are measured: Recollect and its peers, each behind the same few methods."""
