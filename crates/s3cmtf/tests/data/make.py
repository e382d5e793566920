"""Writes the files of this folder anew: python make.py, with pyarrow and numpy."""

import datetime
import decimal
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent

USERS = [3, 1, 3, 2]
TITLES = ["Ran", "Alien", "Ran", "Die Büchse"]
RATINGS = [4.5, 3.0, 0.5, 5.0]
GENRES = [["Drama", "War"], ["Horror"], ["Drama", "War"], []]
TIMES = [datetime.datetime(2024, 5, 31, 13, 45, second) for second in range(4)]


def table() -> pa.Table:
    return pa.table(
        {
            "user": pa.array(USERS, pa.int32()),
            "large": pa.array([user + 2**63 for user in USERS], pa.uint64()),
            "title": pa.array(TITLES),
            "view": pa.array(TITLES, pa.string_view()),
            "coded": pa.array(TITLES).dictionary_encode(),
            "rating": pa.array(RATINGS, pa.float32()),
            "price": pa.array([decimal.Decimal(str(rating)) for rating in RATINGS], pa.decimal128(5, 1)),
            "seen": pa.array([True, False, True, True]),
            "when": pa.array(TIMES, pa.timestamp("ns", "Asia/Seoul")),
            "day": pa.array([time.date() for time in TIMES]),
            "genres": pa.array(GENRES, pa.list_(pa.string())),
            "holes": pa.array([1.0, None, 2.0, 3.0]),
            "nan": pa.array([1.0, 2.0, float("nan"), 3.0]),
            "whole": pa.array([float(user) for user in USERS]),
        }
    )


def main() -> None:
    whole = table()
    small = whole.select(["user", "title", "coded", "rating", "when"])
    plain = {"compression": "none", "store_schema": False, "write_statistics": False}
    pq.write_table(whole, HERE / "plain.parquet", row_group_size=3, use_dictionary=False, **plain)
    for codec in ("snappy", "zstd", "gzip", "lz4"):
        pq.write_table(small, HERE / f"{codec}.parquet", row_group_size=2, compression=codec)
    pq.write_table(small, HERE / "v2.parquet", data_page_version="2.0", use_dictionary=False, compression="zstd")
    with pa.OSFile(str(HERE / "file.arrow"), "wb") as sink, pa.ipc.new_file(sink, whole.schema) as writer:
        writer.write_table(whole)
    with pa.OSFile(str(HERE / "stream.arrows"), "wb") as sink, pa.ipc.new_stream(sink, small.schema) as writer:
        writer.write_table(small, max_chunksize=3)
    for codec in ("lz4", "zstd"):
        pa.feather.write_feather(small, HERE / f"{codec}.feather", compression=codec)

    matrix = np.array([USERS, [7, 8, 9, 10], RATINGS], dtype=np.float64).T
    np.save(HERE / "matrix.npy", np.ascontiguousarray(matrix))
    np.save(HERE / "fortran.npy", np.asfortranarray(matrix.astype(">f4")))
    np.save(HERE / "integers.npy", matrix[:, :2].astype(">i2"))
    records = np.zeros(4, dtype=np.dtype([("user", "i2"), ("rating", "f8"), ("title", "U10")], align=True))
    records["user"], records["rating"], records["title"] = USERS, RATINGS, TITLES
    np.save(HERE / "records.npy", records)
    columns = {
        "user": np.array(USERS, np.uint16),
        "title": np.array(TITLES),
        "bytes": np.array(["a", "bc", "a", ""], dtype="S"),
        "rating": np.array(RATINGS, np.float16),
        "when": np.array(TIMES, "datetime64[ms]"),
        "seen": np.array([True, False, True, True]),
    }
    np.savez(HERE / "columns.npz", **columns)
    np.savez_compressed(HERE / "deflated.npz", **columns)
    coords = matrix[:, :2].astype(np.int64)
    np.savez(HERE / "coords.npz", coords=coords, values=np.array(RATINGS))
    np.savez(HERE / "transposed.npz", coords=coords.T, data=np.array(RATINGS))


main()
