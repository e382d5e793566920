"""A fit that workers of a cluster share, for the estimator."""

from __future__ import annotations

import tempfile
from typing import Any

from . import _s3cmtf
from ._errors import tell
from ._tables import Given, given


def fit_on_cluster(files: Any, said: dict[str, Any], refused: dict[str, Any]) -> tuple[_s3cmtf.Run, Given]:
    """The run of workers, loaded here, and its table; ``refused`` are words that one machine has and a cluster has not."""
    # Only here: it needs packages that need not be there.
    from .cluster._files import unpacked
    from .cluster._fit import fit, paths_of

    for name, value in refused.items():
        if value is not None:
            raise ValueError(f"{name} is for one machine: a fit on a cluster does not have it yet")
    if isinstance(said["modes"], str):
        said["modes"] = [mode.strip() for mode in said["modes"].split(",")]
    archive, usage = fit(files, **said)
    with tempfile.TemporaryDirectory() as folder:
        unpacked(archive or b"", folder)
        run = _s3cmtf.load(folder)
    tell([note for one in usage[:1] for note in one["notes"]])
    return run, given(paths_of(files, "X")[0], "X")[0]
