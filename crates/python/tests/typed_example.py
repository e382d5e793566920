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
    return model.rmse()


if __name__ == "__main__":
    print(main())
