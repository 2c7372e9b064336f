"""A stream as it comes over a network: cut anywhere, within a line and within a character."""

from aiohttp import web

PIECE = 61  # bytes


async def write(response: web.StreamResponse, data: bytes) -> None:
    for at in range(0, len(data), PIECE):
        await response.write(data[at : at + PIECE])
