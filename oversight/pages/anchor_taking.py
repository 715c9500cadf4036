"""A copy of the anchors: one of a tenant at a time, and no wait for it in a pipe.

The first one after a start has every line of the file checked, whosever it is. That is
done in a thread of its own: those that write files are not kept from others meanwhile.
"""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import Final
from uuid import UUID
from weakref import WeakValueDictionary

from audit.anchor_copy import check_anchors, write_anchor_copy
from kernel.problems import BUSY
from oversight.pages.piped import piped

_checking: Final = ThreadPoolExecutor(1, "anchors")
_places: Final = WeakValueDictionary[UUID, asyncio.Lock]()


async def anchor_copy(tenant_id: UUID) -> AsyncGenerator[bytes]:
    """What `write_anchor_copy` writes, as it comes.

    Raises `busy` (503) while another one is taken for the tenant in this process.
    """
    place = _places.setdefault(tenant_id, asyncio.Lock())
    if place.locked():
        raise BUSY("A copy of these anchors is being taken.")
    async with place:
        await asyncio.wrap_future(_checking.submit(check_anchors))
    return _sent(tenant_id, place)


async def _sent(tenant_id: UUID, place: asyncio.Lock) -> AsyncGenerator[bytes]:
    """Two that were let in at once are sent one after the other."""
    write = partial(write_anchor_copy, tenant_id)
    async with place, aclosing(piped(write)) as lines:
        async for chunk in lines:
            yield chunk
