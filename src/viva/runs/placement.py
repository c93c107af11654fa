"""Where work is done that needs processors or cards: on this machine, or on the cluster of --backend; and the
variables that are read from an --env-file."""

from __future__ import annotations

import io
import os
from functools import partial
from pathlib import Path

from viva.contracts import Encoder, Model, Sandbox
from viva.errors import VivaError, option
from viva.files import read_regular
from viva.runs.config import LimitOptions
from viva.runs.progress import say


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
            f"{model.weights.device} and {option('backend')} {limits.backend}: every replica has one card that Ray "
            f"gives it; leave {option('device')} out",
            field="device",
        )
    return RemoteModel(limits.backend, model, partial(model_worker, model.place, model.weights, model.name, model.said))


LARGEST = 1 << 20
"""Bytes."""


def read_environment(path: Path | None) -> None:
    """Set the variables that the file names and the environment does not have. Raises VivaError where it is no such
    file; what it says is repeated nowhere."""
    if path is None:
        return
    from dotenv.parser import parse_stream

    try:
        text = read_regular(path, LARGEST, follow=True).decode("utf-8-sig")
    except OSError as problem:
        raise VivaError(f"{option('env_file')}: cannot read {path}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise VivaError(f"{option('env_file')}: {path} is not UTF-8") from None
    for found in parse_stream(io.StringIO(text)):
        if found.error:
            line = found.original.line
            raise VivaError(
                f"{option('env_file')}: {path}, line {line}: write NAME=VALUE, quotes closed; comments begin with #"
            )
        if found.key and found.value is not None and "\0" not in found.value:
            os.environ.setdefault(found.key, found.value)
