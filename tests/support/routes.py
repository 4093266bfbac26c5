"""The routes of the HTTP API, as they are described: no memory answers them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from recollect.shells.http.app import described_app
from recollect.shells.http.listen import ServerLimits
from recollect.shells.http.operations import OPERATIONS
from recollect.shells.http.route import OperationRoute

_SERVER = cast("Any", SimpleNamespace(needs_token=False))
APP = described_app(_SERVER, limits=ServerLimits(), operations=OPERATIONS)
ROUTES = [route for route in APP.routes if isinstance(route, OperationRoute)]
