"""A Ray cluster: its address, connection and nodes. Ray is imported only when a cluster is used.

ray                the cluster of RAY_ADDRESS, or the one that runs on this machine, or one made here for this process
ray://HOST:PORT    Ray Client: a cluster that this machine is no part of (usual port 10001)
HOST:PORT          a cluster that this machine is a part of, by the address of its head (usual port 6379)
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import socket
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from viva.errors import EXIT_INCOMPLETE, VivaError
from viva.version import __version__
from viva.visible import one_line

NEEDS = "--backend {} needs {}: pip install 'viva[ray]'"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_USAGE_STATS_PROMPT_ENABLED": "0", "DO_NOT_TRACK": "1"}
"""Disable telemetry of a cluster started here; one that runs already keeps its setting."""
KNOCK = 10.0
"""Seconds in which a cluster's machine has to take a connection."""
STARTS = 3
"""Attempts to have the cluster start a server for Ray Client: a busy head gives up on one after 30 s."""
PAUSE = 5.0
"""Seconds between these attempts."""
_PLACE = re.compile(r"(?:ray://)?(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+):(?P<port>\d{1,5})", re.ASCII)


class ClusterError(VivaError):
    """A cluster that cannot be reached, or has no usable worker."""

    exit_code = EXIT_INCOMPLETE


class Node(Struct, frozen=True):
    """A machine of the cluster: its id, address, and resources in all (not only free ones)."""

    id: str
    host: str
    cpus: float
    gpus: float


def is_place(on: str) -> bool:
    """Tell whether `on` names a cluster, rather than this machine or nothing."""
    if on == "ray":
        return True
    match = _PLACE.fullmatch(on)
    return match is not None and 0 < int(match["port"]) < 1 << 16


def need_ray(on: str) -> None:
    """Raise VivaError where Ray is not installed, or lacks Ray Client for a remote cluster."""
    elsewhere = (os.environ.get("RAY_ADDRESS", "") if on == "ray" else on).startswith("ray://")
    for module, what in (("ray", "Ray"), *([("grpc", "Ray Client (ray[client])")] if elsewhere else [])):
        if importlib.util.find_spec(module) is None:
            raise VivaError(NEEDS.format(one_line(on, 80), what))


class Cluster:
    """The process's connection to a cluster.

    Raises VivaError without Ray, ClusterError without an answer.
    """

    def __init__(self, on: str) -> None:
        need_ray(on)
        os.environ.update(QUIET)
        self.introduced = introduce()
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        self.ray: Any = importlib.import_module("ray")
        if not self.ray.is_initialized():  # a program that uses Viva as a library may have connected already
            self._connect(on)

    def _connect(self, on: str) -> None:
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        address = os.environ.get("RAY_ADDRESS") or "auto" if on == "ray" else on
        try:
            knock(address)
            self._join(address=address, **({"logging_level": "ERROR"} if address.startswith("ray://") else quiet))
        except Exception as problem:  # Ray raises many kinds
            if address != "auto":
                asked = "" if self.introduced else "; where it wants a token, that belongs into RAY_AUTH_TOKEN"
                raise ClusterError(
                    f"no Ray cluster answers at {one_line(address, 100)} ({reason(problem)}); "
                    f"`ray status` on its head says whether it runs{asked}"
                ) from problem
            from viva.distributed.local import cores

            print("viva: no Ray cluster runs here, so one is made of this machine", file=sys.stderr)
            try:
                self.ray.init(address="local", num_cpus=cores(), include_dashboard=False, **quiet)
            except Exception as second:
                raise ClusterError(f"Ray could not be started here ({reason(second)})") from second

    def _join(self, **settings: object) -> object:
        """Join a cluster that listens. Raises Ray's errors, ConnectionAbortedError where no server for us starts."""
        for _ in range(STARTS - 1):
            with suppress(ConnectionAbortedError):  # Ray has disconnected, so that another try is possible
                return self.ray.init(**settings)
            print("viva: the Ray cluster started no server for this client in time; asking again", file=sys.stderr)
            time.sleep(PAUSE)
        return self.ray.init(**settings)

    def nodes(self) -> list[Node]:
        """Return the present machines, in a fixed order."""
        alive = []
        for entry in self.ray.nodes():
            if entry["Alive"]:
                has = entry["Resources"]
                alive.append(Node(entry["NodeID"], entry["NodeManagerAddress"], has.get("CPU", 0), has.get("GPU", 0)))
        return sorted(alive, key=lambda node: node.id)


@cache
def connect(on: str) -> Cluster:
    """Return the connection to the cluster `on`, cached."""
    return Cluster(on)


@cache
def edition() -> str:
    """Return Viva's version and a hash of its sources, on whose equality equal results depend."""
    root = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".toml") and path.is_file():
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{__version__} ({digest.hexdigest()})"


def introduce() -> bool:
    """Have Ray send an authentication token of this machine, if any; return whether there is one.

    Ray itself does so only on starting a cluster. A cluster that requires a token does not answer without it, and one
    that requires none ignores it. If Ray is imported already, the program's setting stays.
    """
    kept = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    has = bool(os.environ.get("RAY_AUTH_TOKEN")) or kept.is_file()
    if has and "ray" not in sys.modules:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    return has


def knock(address: str) -> None:
    """Raise OSError where nothing listens at an address: Ray would try for minutes, then end the whole process.

    "auto" is the last cluster started here by `ray start`, by its file, which a killed head leaves behind.
    """
    if address == "auto":
        with suppress(FileNotFoundError):
            address = Path(os.environ.get("RAY_TMPDIR") or "/tmp", "ray/ray_current_cluster").read_text().strip()  # noqa: S108 - Ray's own place
    place = _PLACE.fullmatch(address)
    if place is not None:
        socket.create_connection((place["host"].strip("[]"), int(place["port"])), timeout=KNOCK).close()


def reason(problem: BaseException) -> str:
    """Return the message of Ray's exception, in one line."""
    return one_line(f"{type(problem).__name__}: {problem}", 300)
