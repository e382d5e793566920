//! What is said of what is wrong, word by word: `errors.txt` has a line of the command, what it then prints on stderr, and
//! its exit code.

use std::fs;

use crate::harness::Folder;

const TRANSCRIPT: &str = include_str!("errors.txt");

/// Files of which each but a few has one thing wrong with it.
fn folder() -> Folder {
    let folder = Folder::with_model();
    for (name, bytes) in [
        ("r.csv", &b"user,film,when,stars\na,x,2017-01-01,1\nb,x,2017-01-02,2\na,y,2017-01-03,3\n"[..]),
        ("list.csv", b"film,title,genres,year,price\nx,t,d,1,2\n"),
        ("utf16.csv", b"\xff\xfeu\0,\0v\0\n\0"),
        ("double.csv", b"user,user,stars\na,b,1\nc,d,2\n"),
        ("quote.csv", b"user,film,stars\na,x,1\n\"b,y,2\n"),
        ("blank.csv", b"\n\n"),
        ("hole.csv", b"user,film,stars\na,x,1\nb,,2\n"),
        ("comma.csv", b"user,film,stars\na,x,1\nb,y,\"1,5\"\n"),
        ("short.csv", b"user,film,stars\na,x,1\nb,2\n"),
        ("soon.csv", b"user,film,when,stars\na,x,2017-01-01,1\nb,y,soon,2\n"),
        ("twice.csv", b"user,film,stars\na,x,1\na,x,2\nb,x,2\n"),
        ("pairs.tns", b"1 1 5\n1 2 3\n2 1 4\n"),
        ("far.tns", b"1 1 1\n500 1 1\n"),
        ("minus.tns", b"1 2 1\n2 3 -1\n"),
        ("self.tns", b"1 1 1\n"),
        ("single.csv", b"user,film,stars\na,x,1\nb,x,2\n"),
        ("same.csv", b"user,film,when,stars\na,x,2017-01-01,1\nb,x,2017-01-01,2\n"),
        ("one.csv", b"user,film,stars\na,x,1\n"),
        ("complex.mtx", b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n"),
        ("hermitian.mtx", b"%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n"),
        ("far.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n"),
        ("cut.npy", b"\x93NUMPY\x01\x00\x05\x00{}{} "),
        ("cut.npz", b"PK\x03\x04xx"),
        ("cut.parquet", b"PAR1xx"),
        ("cut.arrow", b"ARROW1xx"),
        ("array.mtx", b"%%MatrixMarket matrix array real general\n1 1\n"),
        ("cut.mtx", b"%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n"),
    ] {
        folder.write(name, bytes);
    }
    for (name, shape, bytes) in [
        ("cube.npy", "(1, 1, 1)", 8),
        ("less.npy", "(4, 3)", 8),
        ("huge.npy", "(4294967296, 4294967296, 9)", 0),
    ] {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let start =
            [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
        folder.write(name, [start, vec![0; bytes]].concat());
    }
    for (name, text) in [
        ("ml-short/ratings.csv", "userId,movieId,rating,timestamp\n1,2,3.5\n"),
        ("ml-short/movies.csv", "movieId,title,genres\n"),
        ("ml-id/ratings.dat", "1::x::5::978300760\n"),
        ("ml-id/movies.dat", "1::A::B\n"),
        ("ml-time/ratings.dat", "1::1::5::soon\n"),
        ("ml-time/movies.dat", "1::A::B\n"),
        ("ml-movie/ratings.dat", "1::1::5::978300760\n"),
        ("ml-movie/movies.dat", "1::A\n"),
        ("ml-alone/ratings.dat", "1::1::5::978300760\n"),
        ("ml-twice/ratings.dat", "1::1::5::978300760\n"),
        ("ml-twice/ratings.csv", "userId,movieId,rating,timestamp\n"),
        ("ml-empty/ratings.csv", "userId,movieId,rating,timestamp\n"),
        ("ml-empty/movies.csv", "movieId,title,genres\n1,A,B\n"),
        ("nf-first/combined_data_1.txt", "1488844,3,2005-09-06\n"),
        ("nf-title/combined_data_1.txt", "1:\n1488844,3,2005-09-06\n"),
        ("nf-title/movie_titles.csv", "1,2003\n"),
        ("nf-both/combined_data_1.txt", "1:\n1488844,3,2005-09-06\n"),
        ("nf-both/mv_0000001.txt", "1:\n1488844,3,2005-09-06\n"),
        (
            "yelp/review.json",
            "{\"user_id\":\"u\",\"business_id\":\"b\",\"stars\":\"many\",\"date\":\"2018-01-01\"}\n",
        ),
        ("cut.zip", "PK\u{3}\u{4}xx"),
    ] {
        fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
        folder.write(name, text);
    }
    fs::create_dir(folder.path("other")).unwrap();
    folder.write("other/file", "x");
    folder.run("fit r.csv --rank 1 --epochs 2 --quiet --out named").succeeds();
    let sgd = "--rank 2 --epochs 2 --algorithm sgd --quiet";
    folder.run(&format!("fit ratings.tns {sgd} --out sgd")).succeeds();
    folder.run(&format!("fit ratings.tns {sgd} --orthogonal --out orthogonal")).succeeds();
    folder.run("convert ratings.tns --out whole.s3cmtf").succeeds();
    let whole = fs::read(folder.path("whole.s3cmtf")).unwrap();
    folder.write("cut.s3cmtf", &whole[..300]);
    let model = fs::read(folder.path("model/model.safetensors")).unwrap();
    let run = fs::read(folder.path("model/run.json")).unwrap();
    for (name, model, run) in
        [("cut", &model[..100], Some(&run[..])), ("odd", &model, Some(b"{")), ("half", &model, None)]
    {
        fs::create_dir(folder.path(name)).unwrap();
        folder.write(&format!("{name}/model.safetensors"), model);
        if let Some(run) = run {
            folder.write(&format!("{name}/run.json"), run);
        }
    }
    folder
}

#[test]
fn every_error_says_where_and_what() {
    let folder = folder();
    let (mut expected, mut found) = (String::new(), String::new());
    for case in TRANSCRIPT.split("\n$ ").map(|case| case.trim_start_matches("$ ").trim_end()) {
        let line = case.lines().next().unwrap();
        let shown = folder.run(line);
        assert_eq!(shown.stdout, "", "{line}");
        expected.push_str(&format!("$ {case}\n"));
        found.push_str(&format!("$ {line}\n{}[{}]\n", shown.stderr, shown.code));
    }
    assert!(expected == found, "what was found:\n{found}");
}
