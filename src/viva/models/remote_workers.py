"""Encoders and models in remote workers: recipes for `viva.distributed`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from viva.errors import ModelError
from viva.providers import RequestOptions, Weights
from viva.types import Choose, Generate, Response


def encoder_worker(name: str, _place: int) -> RemoteEncoderWorker:
    """Open an encoder. Raises VivaError where that fails."""
    return RemoteEncoderWorker(name)


class RemoteEncoderWorker:
    """An encoder in a worker."""

    def __init__(self, name: str) -> None:
        from viva.models.encoder import open_encoder

        self._encoder = open_encoder(name)

    def report(self) -> tuple[str, dict[str, str], int]:
        """Return its name, its identity, and the best number of pairs at once."""
        return self._encoder.name, dict(self._encoder.identity), self._encoder.batch

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the similarity of each pair."""
        return self._encoder.similarities(pairs)


def model_worker(place: str, weights: Weights, shown: str, said: RequestOptions, _place: int) -> RemoteModelWorker:
    """Open a model's weights. Raises VivaError where that fails."""
    return RemoteModelWorker(place, weights, shown, said)


class RemoteModelWorker:
    """A model in a worker, which answers groups of requests: a Response for each, or the data of a ModelError."""

    def __init__(self, place: str, weights: Weights, shown: str, said: RequestOptions) -> None:
        from viva.models.local.weightsmodel import LocalModel

        self._model = LocalModel(place, weights, shown, said)

    def report(self) -> Mapping[str, str]:
        """Return its identity, which must equal that on the calling machine."""
        return dict(self._model.identity)

    def drain(self) -> None:
        """Cancel requests that are not begun."""
        from viva.models.local.scheduler import cancel_pending

        cancel_pending()

    def __call__(self, requests: Sequence[Generate | Choose]) -> list[Response | dict[str, object]]:
        """Answer all requests concurrently, so that batches are full."""
        return asyncio.run(self._all(requests))

    async def _all(self, requests: Sequence[Generate | Choose]) -> list[Response | dict[str, object]]:
        return list(await asyncio.gather(*map(self._one, requests)))

    async def _one(self, request: Generate | Choose) -> Response | dict[str, object]:
        try:
            if isinstance(request, Choose):
                return await self._model.choose(request)
            return await self._model.answer(request)
        except ModelError as problem:
            return {
                "kind": problem.kind,
                "message": problem.message,
                "retry": problem.retry,
                "retry_after": problem.retry_after,
                "overload": problem.overload,
                "fatal": problem.fatal,
            }
