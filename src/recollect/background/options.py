"""When an index is brought up to date in the background."""

from __future__ import annotations

from recollect.records import dataclass
from recollect.text.setting import setting, whole


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """When a worker syncs."""

    interval_minutes: int = setting(
        "sync.interval_minutes", 0, whole(0, 10_080), "watch: also sync this often; 0: never"
    )
    debounce_ms: int = setting(
        "watch.debounce_ms", 1500, whole(50, 600_000), "watch: sync after this long without changes"
    )
