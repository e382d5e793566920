"""What a typed program looks like; mypy holds it to the stubs, and the tests run it."""

from __future__ import annotations

import numpy as np
import pandas as pd

import s3cmtf


def main() -> float:
    ratings = pd.DataFrame({"user": [1, 1, 2, 3], "film": ["a", "b", "b", "a"], "stars": [5.0, 3.0, 2.0, 4.0]})
    genres = s3cmtf.Coupled("film", {"film": ["a", "b"], "genre": ["War", "Crime"]}, absent="zeros")

    def patient(epoch: s3cmtf.Epoch) -> bool:
        return epoch.train_rmse < 0.01

    model = s3cmtf.S3CMTF(rank=2, epochs=10, callbacks=[patient])
    model.fit(ratings, modes=["user", "film"], value="stars", couple=[genres])
    factor: np.ndarray = model.factors["film"]
    names = model.coupled["film/genre"].columns
    assert factor.shape == (2, 2) and len(names) == 2
    tucker: s3cmtf.TuckerTensor = s3cmtf.factorize(np.array([[0, 1], [1, 0]]), [1.0, 2.0], 2, epochs=2)
    assert tucker.ranks == (2, 2)
    values, std = model.predict(ratings, return_std=True)
    assert values.shape == std.shape == (4,)
    clusters: s3cmtf.Clusters = model.clusters("film", k=2)
    typical: list[str] = [one["name"] for cluster in clusters.described for one in cluster["typical"]]
    share: list[float] = [concept["strength"] for concept in model.concepts().described]
    ranking = model.evaluate(ratings).ranking
    assert len(typical) == 2 and sum(share) > 0.0 and (ranking is None or 0.0 <= ranking["recall"] <= 1.0)
    return model.rmse()


if __name__ == "__main__":
    print(main())
