//! Well-known data sets: from their downloads to tables that can be factorized.

use std::fmt::Write as _;
use std::fs;

use crate::harness::{Folder, Shown};

/// A folder with the files of a small MovieLens.
fn movielens() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("ml")).unwrap();
    let mut ratings = String::from("userId,movieId,rating,timestamp\n");
    for user in 1..=12 {
        for movie in 1..=9 {
            if (user * 7 + movie * 5) % 4 != 0 {
                let rating = 1 + (user + 2 * movie) % 5;
                writeln!(ratings, "{user},{movie},{rating}.0,{}", 1_112_486_027 + 400_000 * (user + movie))
                    .unwrap();
            }
        }
    }
    let mut movies = String::from("movieId,title,genres\n1,\"Godfather, The\",Crime|Drama\n");
    for movie in 2..=9 {
        writeln!(movies, "{movie},Film {movie},{}", if movie % 2 == 0 { "Comedy" } else { "Drama" }).unwrap();
    }
    folder.write("ml/ratings.csv", ratings);
    folder.write("ml/movies.csv", movies);
    folder
}

/// Runs the line that was printed last.
fn runs_what_is_next(folder: &Folder, shown: &Shown) {
    let line = shown.stdout.lines().last().unwrap();
    let line = line.strip_prefix("next: s3cmtf ").unwrap();
    folder.run(&format!("{line} --rank 2 --epochs 3 --quiet")).succeeds();
}

#[test]
fn what_is_imported_can_be_fitted_by_the_line_that_is_printed() {
    let folder = movielens();
    for format in ["parquet", "csv"] {
        let shown = folder.run(&format!("import movielens ml --out {format} --to {format}")).succeeds();
        let shown = shown.prints(&[
            &format!("{format}/ratings.{format}  81 rows\n{format}/genres.{format}  10 rows\n"),
            &format!(
                "next: s3cmtf fit {format}/ratings.{format} --modes user,movie,timestamp:month --value rating \
                 --couple movie={format}/genres.{format}:movie,genre,zeros"
            ),
        ]);
        runs_what_is_next(&folder, &shown);
    }
    let text = fs::read_to_string(folder.path("csv/genres.csv")).unwrap();
    assert!(text.starts_with("movie,genre\n\"Godfather, The\",Crime\n\"Godfather, The\",Drama\n"), "{text}");
}

#[test]
fn friends_and_cities_of_yelp_are_coupled() {
    let folder = Folder::new();
    fs::create_dir(folder.path("in")).unwrap();
    let (mut reviews, mut users, mut businesses) = (String::new(), String::new(), String::new());
    for user in 0..8 {
        writeln!(users, r#"{{"user_id":"u{user}","friends":"u{}, u{}"}}"#, (user + 1) % 8, (user + 7) % 8)
            .unwrap();
        for business in 0..6 {
            let stars = 1 + (user + business) % 5;
            let day = 1 + user + business;
            writeln!(
                reviews,
                r#"{{"user_id":"u{user}","business_id":"b{business}","stars":{stars},"date":"2016-0{}-{day:02}"}}"#,
                1 + user % 3
            )
            .unwrap();
        }
    }
    for business in 0..6 {
        let city = business % 2;
        writeln!(
            businesses,
            r#"{{"business_id":"b{business}","name":"B{business}","city":"C{city}","categories":"Food, K{city}"}}"#
        )
        .unwrap();
    }
    folder.write("in/review.json", reviews);
    folder.write("in/user.json", users);
    folder.write("in/business.json", businesses);
    let shown = folder.run("import yelp in --out out --to csv").succeeds().prints(&[
        "out/ratings.csv  48 rows",
        "out/friends.csv  16 rows",
        "out/categories.csv  12 rows",
        "out/cities.csv  6 rows",
        "--couple user=out/friends.csv:user,friend,graph",
    ]);
    runs_what_is_next(&folder, &shown);
}

#[test]
fn what_cannot_be_imported_is_said_and_leaves_nothing() {
    let folder = movielens();
    folder.run("import movies ml --out x").fails(2, &["movielens, netflix, yelp"]);
    folder.run("import movielens ml").fails(2, &["--out"]);
    folder
        .run("import movielens nowhere --out x")
        .fails(1, &["nowhere: does not exist", "MovieLens is at grouplens.org/datasets/movielens"]);
    folder
        .run("import netflix ml --out x")
        .fails(1, &["ml: has no training_set/mv_*.txt or combined_data_*.txt"]);
    folder.run("import yelp ml --out x").fails(1, &["ml: has no file whose name ends with review.json"]);
    folder.write("ml/movies.csv", "movieId,title,genres\n1,A\n");
    folder
        .run("import movielens ml --out x")
        .fails(1, &["ml/movies.csv:2: should be an id, a title and genres"]);
    assert!(!folder.path("x").exists());
}
