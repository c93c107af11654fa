"""Where work is done that needs processors or cards: on this machine, or on the cluster of --backend."""

from __future__ import annotations

import os
from functools import partial

from viva.contracts import Encoder, Model, Sandbox
from viva.errors import VivaError
from viva.runs.config import LimitOptions
from viva.runs.live_line import say


def open_sandbox(limits: LimitOptions) -> tuple[Sandbox, int]:
    """A sandbox, and how many programs to give it at once. Raises VivaError where no program can be run."""
    unsafe = limits.unsafe_host_execution
    if limits.backend == "local":
        from viva.sandbox import Sandbox as Bubble

        return Bubble(unsafe_host_execution=unsafe), os.cpu_count() or 1
    from viva.distributed.sandboxes import RemoteSandbox
    from viva.sandbox.languages import canonical, not_there
    from viva.sandbox.remote_sandbox import remote_sandbox

    sandbox = RemoteSandbox(limits.backend, partial(remote_sandbox, unsafe_host_execution=unsafe), canonical, not_there)
    try:
        sandbox.begin()
    except BaseException:
        sandbox.end()
        raise
    say(f"viva: programs run on {limits.backend}")
    return sandbox, sandbox.jobs


def open_encoder(name: str, limits: LimitOptions) -> Encoder:
    """An encoder, here or there. Raises VivaError where it cannot be used."""
    if limits.backend == "local":
        from viva.models.encoder import open_encoder as open_here

        return open_here(name)
    from viva.distributed.encoders import RemoteEncoder
    from viva.models.remote_workers import encoder_worker

    return RemoteEncoder(limits.backend, partial(encoder_worker, name))


def batches_at_once(encoder: Encoder) -> int:
    """How many batches of pairs an encoder works on side by side."""
    return int(getattr(encoder, "jobs", 1))


def placed(model: Model, limits: LimitOptions) -> Model:
    """Weights on a disk are opened where --backend says; models of other providers are asked from here."""
    if limits.backend == "local" or model.rate_limit_group != "hf":
        return model
    from viva.distributed.replicas import RemoteModel
    from viva.models.local.model import LocalModel
    from viva.models.remote_workers import model_worker

    if not isinstance(model, LocalModel):
        return model
    if model.weights.device not in ("auto", "cpu", "cuda"):
        raise VivaError(
            f"--device {model.weights.device} and --backend {limits.backend}: every replica has one card that Ray "
            "gives it; leave --device out"
        )
    return RemoteModel(limits.backend, model, partial(model_worker, model.place, model.weights, model.name, model.said))
