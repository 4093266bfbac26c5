"""Serve a memory to many clients: one question per line in, one line of JSON out.

usage: python examples/async_server.py
       echo "how do we keep backups safe?" | nc 127.0.0.1 7700

It shows AsyncMemory in an event loop. For real use there are `recollect serve` and `recollect mcp`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from recollect import AsyncMemory, RecollectError

WORKSPACE = Path(__file__).parent / "workspace"


async def answer(memory: AsyncMemory, question: str) -> dict[str, object]:
    """Return the reply to one line."""
    try:
        results = await memory.search(question, max_results=3)
    except RecollectError as error:
        return {"error": error.message, "action": error.action}
    return {
        "confident": results.confident,
        "degraded": sorted(results.degraded or ()),
        "hits": [{"citation": hit.citation, "snippet": hit.snippet} for hit in results.hits],
    }


async def serve(port: int) -> None:
    """Answer until stopped."""
    async with await AsyncMemory.open(WORKSPACE) as memory:
        await memory.sync()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            async for line in reader:
                reply = await answer(memory, line.decode(errors="replace").strip())
                writer.write(json.dumps(reply, ensure_ascii=False).encode() + b"\n")
                await writer.drain()
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", port)
        print("listening on port", server.sockets[0].getsockname()[1], flush=True)
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 7700))
