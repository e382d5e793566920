"""Exports as people have them, from the file to a report with one typed line."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import s3cmtf

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def rows():
    """User, film, half stars from 2 to 10, and month and day of 2016, as if all months had 28 days."""
    for user in range(20):
        for film in range(12):
            if (user * 7 + film * 5) % 3 != 0:
                day = (user * 13 + film * 29) % 336
                yield user, film, 2 + (user + 2 * film) % 9, day // 28 + 1, day % 28 + 1


def table(head, row):
    return head + "".join(f"{row(*one)}\n" for one in rows())


def reported(path, **words):
    """The one line: the model, what was taken for what, and the page."""
    page = path.with_suffix(".html")
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        model = s3cmtf.S3CMTF(epochs=5).fit(path, **words)
        model.report(page)
    taken, *others = [
        str(note.message) for note in notes if any(word in str(note.message) for word in ("inferred: ", "attributes of "))
    ]
    return model, "\n".join([taken, *others]), page.read_text()


MEAN = np.mean([half / 2 for _, _, half, _, _ in rows()])
COUNT = len(list(rows()))


def test_a_table_of_excel_with_semicolons_and_decimal_commas(tmp_path):
    path = tmp_path / "export.csv"
    row = lambda user, film, half, month, day: (
        f"Anna {user};Film {film};{half // 2},{5 * (half % 2)};{day:02}.{month:02}.2016"
    )
    path.write_text(table("\ufeffKunde;Film;Stars;Datum\n", row), encoding="utf-8")
    model, taken, page = reported(path)
    assert taken == "inferred: modes Kunde,Film,Datum:month, value Stars"
    assert model.record_["data"]["mean"] == pytest.approx(MEAN, rel=1e-6)
    assert list(model.names("Datum")) == [f"2016-{month:02}" for month in range(1, 13)]
    assert len(model.recommend("Kunde", "Anna 3", "Film", n=2)) == 2
    assert "Anna 3" in page


def test_a_table_of_pandas_with_its_index(tmp_path):
    path = tmp_path / "index.csv"
    frame = pd.DataFrame(
        [(f"u{user}", f"F{film}", half / 2) for user, film, half, *_ in rows()], columns=["user", "film", "rating"]
    )
    frame.to_csv(path)
    model, taken, page = reported(path)
    assert taken == "inferred: modes user,film, value rating"
    assert model.record_["data"]["mean"] == pytest.approx(MEAN, rel=1e-6) and "F11" in page


def test_a_dump_of_a_database_with_nulls_where_nobody_looks(tmp_path):
    path = tmp_path / "dump.csv"
    null = lambda user, text: "NULL" if user % 4 == 0 else text

    def row(user, film, half, month, day):
        return f"{user * 100 + film},C{user},P{film},{half / 2},2016-{month:02}-{day:02} 13:05:00,{null(user, 'fine')},{null(film, '3')}"

    path.write_text(table("review_id,customer_id,product_id,rating,review_date,body,helpful\n", row))
    model, taken, page = reported(path)
    assert taken == "inferred: modes customer_id,product_id,review_date:month, value rating"
    assert model.record_["data"]["entries"] == COUNT and "P11" in page


def test_a_dump_of_a_database_with_nulls_among_its_values(tmp_path):
    path = tmp_path / "dump.csv"

    def row(user, film, half, month, day):
        rating = "NULL" if (user + film) % 5 == 0 else half / 2
        return f"{user * 100 + film},C{user},P{film},{rating},2016-{month:02}-{day:02} 13:05:00,NULL"

    path.write_text(table("review_id,customer_id,product_id,rating,review_date,body\n", row))
    with pytest.raises(ValueError, match=r'dump.csv:\d+: column "rating" is "NULL", which is no value.*skip_empty=True'):
        s3cmtf.S3CMTF().fit(path, modes=["customer_id", "product_id"], value="rating")
    model, taken, page = reported(path, skip_empty=True)
    assert taken == "inferred: modes customer_id,product_id,review_date:month, value rating"
    known = [half / 2 for user, film, half, *_ in rows() if (user + film) % 5 != 0]
    assert model.record_["data"]["entries"] == len(known) < COUNT
    assert model.record_["data"]["mean"] == pytest.approx(np.mean(known), rel=1e-6) and "P11" in page


@pytest.mark.parametrize("library", ["file", "pandas", "index"])
def test_a_wide_table_of_attributes(tmp_path, library):
    path, known = tmp_path / "ratings.csv", tmp_path / "users.csv"
    path.write_text(table("user,film,rating\n", lambda user, film, half, month, day: f"{user},F{film},{half / 2}"))
    users = pd.DataFrame(
        {
            "user": range(20),
            "name": [f"Person {user}" for user in range(20)],
            "gender": [["f", "m", None][user % 3] for user in range(20)],
            "height": [1.5 + user / 50 if user != 7 else np.nan for user in range(20)],
            "hobbies": ["a|b|c" if user % 2 else "b" for user in range(20)],
            "joined": [f"{2010 + user % 3}-05-01" for user in range(20)],
        }
    )
    users.to_csv(known, index=False)
    data = {"file": known, "pandas": users, "index": users.set_index("user")}[library]
    model, taken, page = reported(path, couple=s3cmtf.Coupled("user", data))
    assert "gender as categories; hobbies as lists separated by |; height as numbers; joined by year" in taken
    assert "left out: name (nearly every row has its own)" in taken
    assert {name: list(matrix.columns) for name, matrix in model.coupled.items()} == {
        "user/gender": ["f", "m"],
        "user/height": ["height"],
        "user/hobbies": ["a", "b", "c"],
        "user/joined": [2010, 2011, 2012],
    }
    assert "user/hobbies" in page
    # Who comes later is known by the same columns.
    later = pd.DataFrame(
        {"user": [99], "name": "Zoe", "gender": "f", "height": 1.9, "hobbies": "c|a", "joined": "2012-01-01"}
    )
    model.fold_in(couple=s3cmtf.Coupled("user", later))
    assert np.isfinite(model.predict(pd.DataFrame({"user": [99], "film": ["F1"]}))).all()


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("Germany", lambda month, day: f"{day:02}.{month:02}.2016"),
        ("the United States, in words", lambda month, day: f'"{MONTHS[month - 1]} {day}, 2016"'),
        ("Japan", lambda month, day: f"2016/{month:02}/{day:02}"),
    ],
)
def test_dates_of_three_countries(tmp_path, name, date):
    path = tmp_path / "dates.csv"
    row = lambda user, film, half, month, day: f"u{user},F{film},{half / 2},{date(month, day)}"
    path.write_text(table("user,film,rating,date\n", row))
    model, taken, page = reported(path)
    assert taken == "inferred: modes user,film,date:month, value rating"
    counts = pd.Series([month for _, _, _, month, _ in rows()]).value_counts()
    assert list(model.names("date")) == [f"2016-{month:02}" for month in sorted(counts.index)]
    assert "2016-12" in page


def test_the_log_of_movielens_100k_without_headings(tmp_path):
    path = tmp_path / "u.data"
    row = lambda user, film, half, month, day: "\t".join(
        map(str, (user + 1, film + 1, -(-half // 2), 874724710 + 86400 * (28 * month + day)))
    )
    path.write_text(table("", row))
    model, taken, page = reported(path)
    assert taken == "inferred: modes 1,2,4:month, value 3"
    whole = [-(-half // 2) for _, _, half, _, _ in rows()]
    assert model.record_["data"]["mean"] == pytest.approx(np.mean(whole), rel=1e-6)
    assert re.search("RMSE", page) and json.loads(json.dumps(model.record_["summary"]))["epochs"] == 5
