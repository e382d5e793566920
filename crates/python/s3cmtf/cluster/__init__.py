"""Fits on many machines, by Ray: the same model, bit for bit, as on one.

>>> from s3cmtf import cluster  # doctest: +SKIP
>>> cluster.fit("ratings/*.parquet", modes=["user", "item", "time:month"], value="rating", out="model")  # doctest: +SKIP
"""

from ._fit import fit

__all__ = ["fit"]
