"""What workers tell each other, by Ray's object store, which is there wherever Ray is."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import numpy as np

INLINE = 1 << 16
"""Bytes: shorter messages go by way of the hub, longer ones by the object store."""


class Hub:
    """Where workers meet: an actor that hands on short messages and references to long ones, and hears of each epoch."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.meetings: dict[int, _Meeting] = {}
        self.epochs: list[str] = []
        self.usage: dict[int, dict[str, float]] = {}
        self.is_stopped = False

    async def meet(self, step: int, node: int, parts: list[Any], to_all: bool) -> list[Any]:
        """Waits for all; returns what each has for this one."""
        meeting = self.meetings.setdefault(step, _Meeting(self.nodes))
        meeting.parts[node] = parts
        if len(meeting.parts) == self.nodes:
            meeting.all_there.set()
        await meeting.all_there.wait()
        meeting.left -= 1
        if meeting.left == 0:
            del self.meetings[step]
        return [meeting.parts[other][0 if to_all else node] for other in range(self.nodes)]

    async def tell(self, node: int, text: str, usage: dict[str, float]) -> bool:
        """Takes note of an epoch, of which the first worker tells; says whether it is time to stop."""
        self.usage[node] = usage
        if node == 0:
            self.epochs.append(text)
        return self.is_stopped

    async def news(self, known: int) -> tuple[list[str], dict[int, dict[str, float]]]:
        """The epochs beyond those that are known, and where each worker's time went."""
        return self.epochs[known:], self.usage

    async def stop(self) -> None:
        self.is_stopped = True


class _Meeting:
    def __init__(self, nodes: int) -> None:
        self.parts: dict[int, list[Any]] = {}
        self.all_there = asyncio.Event()
        self.left = nodes


class ObjectStore:
    """An exchange as the library takes it: one worker's side of all meetings, in their order."""

    def __init__(self, hub: Any, node: int, nodes: int) -> None:
        self.hub = hub
        self.node = node
        self.nodes = nodes
        self.step = 0
        self.seconds = 0.0
        self.sent = 0
        self.received = 0

    def all_gather(self, message: bytes) -> list[Any]:
        return self._meet([message], to_all=True)

    def all_to_all(self, messages: list[bytes]) -> list[Any]:
        return self._meet(messages, to_all=False)

    def _meet(self, messages: list[bytes], to_all: bool) -> list[Any]:
        import ray

        start = time.monotonic()
        self.step += 1
        parts = [_Long(ray.put(np.frombuffer(one, np.uint8))) if len(one) > INLINE else one for one in messages]
        met = ray.get(self.hub.meet.remote(self.step, self.node, parts, to_all))
        found = ray.get([part.reference for part in met if isinstance(part, _Long)])
        long = iter(found)
        answers = [next(long) if isinstance(part, _Long) else part for part in met]
        others = self.nodes - 1
        self.sent += sum(map(len, messages)) * (others if to_all else 1)
        self.received += sum(len(answer) for node, answer in enumerate(answers) if node != self.node)
        self.seconds += time.monotonic() - start
        return answers

    def usage(self) -> dict[str, float]:
        return {"exchange_seconds": self.seconds, "sent": self.sent, "received": self.received}


class _Long:
    """A reference, in a shell that keeps Ray from fetching what it refers to on the way."""

    def __init__(self, reference: Any) -> None:
        self.reference = reference
