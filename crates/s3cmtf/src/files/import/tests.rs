use super::*;
use std::fs;
use std::io::Write;
use tempfile::TempDir;

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn tarred(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        // Past the checks of the writer, which refuses names that lead out.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        writer.append(&header, *bytes).unwrap();
    }
    writer.into_inner().unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// A table as csv.
fn csv(imported: &Imported, name: &str) -> String {
    let table = imported.tables.iter().find(|table| table.name == name).unwrap();
    let mut bytes = Vec::new();
    crate::files::export::write_csv(&mut bytes, table).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn fails(dataset: Dataset, folder: &TempDir) -> String {
    let error = import(dataset, folder.path()).unwrap_err().to_string();
    error.replace(&folder.path().display().to_string(), "IN")
}

const U_ITEM: &[u8] = b"1|Toy Story (1995)|01-Jan-1995||http://us.imdb.com/M/title-exact?Toy|0|0|1\n\
                        2|Mis\xe9rables, Les (1995)|01-Jan-1995|||0|1|1\n267|unknown||||1|0|0\n";
const U_DATA: &[u8] = b"196\t2\t3\t881250949\n186\t1\t3\t891717742\n196\t1\t5\t881250950\n";
const U_GENRE: &[u8] = b"unknown|0\nAction|1\nAnimation|2\n\n";

#[test]
fn movielens_100k() {
    let users: &[u8] = b"186|39|F|executive|00000\n196|49|M|writer|55105\n";
    let files = [
        ("ml-100k/u.item", U_ITEM),
        ("ml-100k/u.data", U_DATA),
        ("ml-100k/u.genre", U_GENRE),
        ("ml-100k/u.user", users),
    ];
    let imported = import(Dataset::MovieLens, folder(&files).path()).unwrap();
    assert_eq!(
        csv(&imported, "users"),
        "user,gender,age,occupation,zip\n186,F,39,executive,00000\n196,M,49,writer,55105\n"
    );
    assert_eq!(imported.couplings[1], Coupling { mode: "user", table: "users", words: "" });
    assert_eq!(
        csv(&imported, "ratings"),
        "user,movie,rating,timestamp\n196,\"Misérables, Les (1995)\",3,1997-12-04T15:55:49Z\n\
         186,Toy Story (1995),3,1998-04-04T19:22:22Z\n196,Toy Story (1995),5,1997-12-04T15:55:50Z\n"
    );
    assert_eq!(
        csv(&imported, "genres"),
        "movie,genre\nToy Story (1995),Animation\n\"Misérables, Les (1995)\",Action\n\
         \"Misérables, Les (1995)\",Animation\n"
    );
    assert_eq!(imported.notes, ["1 movies have no rating; their genres are kept", "1 movies have no genre"]);
    let lacking = folder(&files[..2]);
    assert_eq!(
        fails(Dataset::MovieLens, &lacking),
        "IN: has no u.genre; MovieLens is at grouplens.org/datasets/movielens"
    );
}

#[test]
fn movielens_1m_in_its_archive() {
    let movies = b"1::Toy Story (1995)::Animation|Children's\r\n73::Mis\xe9rables, Les (1995)::Drama\r\n\
                   80::A::B (2000)::Drama\r\n";
    let ratings = b"1::73::5::978300760\r\n2::80::0.5::978302109\r\n";
    let files: [(&str, &[u8]); 4] = [
        ("ml-1m/ratings.dat", ratings),
        ("ml-1m/movies.dat", movies),
        ("ml-1m/users.dat", b"1::F::1::10::48067\r\n2::M::56::16::70072\r\n"),
        ("__MACOSX/ml-1m/._movies.dat", b"\0\0rubbish"),
    ];
    let inside = folder(&[("ml-1m.zip", &zipped(&files))]);
    let imported = import(Dataset::MovieLens, &inside.path().join("ml-1m.zip")).unwrap();
    assert_eq!(
        csv(&imported, "ratings"),
        "user,movie,rating,timestamp\n1,\"Misérables, Les (1995)\",5,2000-12-31T22:12:40Z\n\
         2,A::B (2000),0.5,2000-12-31T22:35:09Z\n"
    );
    assert!(
        csv(&imported, "genres")
            .starts_with("movie,genre\nToy Story (1995),Animation\nToy Story (1995),Children's\n")
    );
    assert!(csv(&imported, "users").ends_with("\n1,F,1,10,48067\n2,M,56,16,70072\n"));
    let packed = folder(&[("ml.tgz", &gzipped(&tarred(&files)))]);
    assert_eq!(import(Dataset::MovieLens, &packed.path().join("ml.tgz")).unwrap(), imported);
}

#[test]
fn movielens_20m_and_later() {
    let movies = "\u{feff}movieId,title,genres\n1,\"Godfather, The \"\"I\"\"\",Crime|Drama\n2,Hamlet (1990),Drama\n\
                  3,Hamlet (1990),(no genres listed)\n4,Amélie,Romance\n";
    let ratings =
        "userId,movieId,rating,timestamp\n1,1,3.5,1112486027\n1,3,4.0,1112484676\n2,9,1.0,1112484676\n";
    let all = folder(&[("movies.csv", movies.as_bytes()), ("ratings.csv", ratings.as_bytes())]);
    let imported = import(Dataset::MovieLens, all.path()).unwrap();
    assert_eq!(
        csv(&imported, "ratings"),
        "user,movie,rating,timestamp\n1,\"Godfather, The \"\"I\"\"\",3.5,2005-04-02T23:53:47Z\n\
         1,Hamlet (1990) [3],4,2005-04-02T23:31:16Z\n2,[9],1,2005-04-02T23:31:16Z\n"
    );
    assert!(csv(&imported, "genres").ends_with("Hamlet (1990) [2],Drama\nAmélie,Romance\n"));
    assert_eq!(imported.notes[0], "1 rated movies have no title: they go by their id");
}

#[test]
fn what_is_wrong_with_movielens_is_said() {
    let movies: (&str, &[u8]) = ("movies.csv", b"movieId,title,genres\n1,A,Drama\n");
    let with = |ratings: &[u8]| fails(Dataset::MovieLens, &folder(&[movies, ("ratings.csv", ratings)]));
    assert_eq!(
        with(b"userId,movieId,rating,timestamp\n1,1,x,5\n"),
        "IN/ratings.csv:2: the rating should be a number, but is \"x\""
    );
    assert_eq!(
        with(b"1,1,3.5,5\n1,1,3.5\n"),
        "IN/ratings.csv:2: has 3 fields, but should have 4: \"1,1,3.5\""
    );
    assert_eq!(with(b"userId,movieId,rating,timestamp\n"), "IN: has no rating in its files");
    let error = fails(Dataset::MovieLens, &folder(&[movies]));
    assert!(error.starts_with("IN: has no ratings.csv, ratings.dat or u.data; MovieLens is at"), "{error}");
    let open: (&str, &[u8]) = ("movies.csv", b"movieId,title,genres\n1,\"A,Drama\n");
    let error = fails(Dataset::MovieLens, &folder(&[open, ("ratings.csv", b"1,1,1,1\n")]));
    assert!(error.starts_with("IN/movies.csv:2: should be an id, a title and genres"), "{error}");
    let twice = folder(&[movies, ("ratings.csv", b"1,1,1,1\n"), ("ml-1m/ratings.dat", b"1::1::1::1\n")]);
    let error = fails(Dataset::MovieLens, &twice);
    assert!(error.contains("there are two of these files") && error.contains("ml-1m/ratings.dat"), "{error}");
    let error = import(Dataset::MovieLens, Path::new("/no/such")).unwrap_err().to_string();
    assert!(error.contains("/no/such: does not exist") && error.contains("grouplens.org"), "{error}");
}

const TITLES: &[u8] =
    b"1,2003,Dinosaur Planet\n2,2004,King, Kong\n3,NULL,Caf\xe9\n4,1933,Twice\n5,1976,Twice\n";

#[test]
fn netflix_as_it_was_and_as_kaggle_has_it() {
    let first: &[u8] = b"1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n";
    let second: &[u8] = b"5:\n822109,1,2005-05-14\n";
    let old = folder(&[
        ("training_set/mv_0000001.txt", first),
        ("training_set/mv_0000005.txt", second),
        ("movie_titles.txt", TITLES),
        ("probe.txt", b"1:\n1488844\n"),
    ]);
    let imported = import(Dataset::Netflix, old.path()).unwrap();
    assert_eq!(
        csv(&imported, "ratings"),
        "customer,movie,rating,date\n1488844,Dinosaur Planet,3,2005-09-06T00:00:00Z\n\
         822109,Dinosaur Planet,5,2005-05-13T00:00:00Z\n822109,Twice [1976],1,2005-05-14T00:00:00Z\n"
    );
    assert_eq!(
        csv(&imported, "years"),
        "movie,year\nDinosaur Planet,2003\n\"King, Kong\",2004\nTwice [1933],1933\nTwice [1976],1976\n"
    );
    assert_eq!(imported.notes, ["3 movies have no rating; their years are kept", "1 movies have no year"]);

    let both = [first, second].concat();
    let kaggle = folder(&[("combined_data_1.txt", &both), ("movie_titles.csv", TITLES)]);
    assert_eq!(import(Dataset::Netflix, kaggle.path()).unwrap(), imported);

    // The archive of the prize has an archive in it.
    let inner = tarred(&[("training_set/mv_0000001.txt", first), ("training_set/mv_0000005.txt", second)]);
    let outer = tarred(&[("download/training_set.tar", &inner), ("download/movie_titles.txt", TITLES)]);
    let packed = folder(&[("nf_prize_dataset.tar.gz", &gzipped(&outer))]);
    assert_eq!(import(Dataset::Netflix, &packed.path().join("nf_prize_dataset.tar.gz")).unwrap(), imported);
    // An archive next to the folder that it was unpacked into is not read again.
    let beside = folder(&[
        ("training_set/mv_0000001.txt", &both),
        ("training_set.tar", &inner),
        ("movie_titles.txt", TITLES),
    ]);
    assert_eq!(import(Dataset::Netflix, beside.path()).unwrap(), imported);
}

#[test]
fn what_is_wrong_with_netflix_is_said() {
    let titles = ("movie_titles.txt", TITLES);
    let with = |text: &[u8]| fails(Dataset::Netflix, &folder(&[titles, ("combined_data_1.txt", text)]));
    assert!(
        with(b"5,3,2005-01-01\n")
            .contains("combined_data_1.txt:1: the first line should be a movie's number")
    );
    assert!(with(b"1:\n5,3,2005-13-01\n").contains("combined_data_1.txt:2: the date should be"));
    assert!(fails(Dataset::Netflix, &folder(&[titles])).contains("has no training_set/mv_*.txt or combined"));
    let error = fails(Dataset::Netflix, &folder(&[("combined_data_1.txt", b"1:\n5,3,2005-01-01\n")]));
    assert!(error.contains("has no movie_titles.txt") && error.contains("archive.org"), "{error}");
    let twice = folder(&[titles, ("combined_data_1.txt", b"1:\n"), ("mv_0000001.txt", b"1:\n")]);
    assert!(fails(Dataset::Netflix, &twice).contains("has the same ratings as"));
}

fn yelp(users: &str, businesses: &str) -> [(&'static str, Vec<u8>); 3] {
    let reviews = r#"{"review_id":"r1","user_id":"ann","business_id":"b1","stars":4.0,"useful":0,"text":"a \"b\"\nc","date":"2016-03-09 12:30:01"}
{"review_id":"r2","user_id":"bob","business_id":"b2","stars":1,"date":"2016-03-10","text":""}
{"review_id":"r3","user_id":"zoe","business_id":"b9","stars":2,"date":"2016-03-10","text":""}
"#;
    [
        ("yelp_academic_dataset_review.json", reviews.into()),
        ("yelp_academic_dataset_user.json", users.into()),
        ("yelp_academic_dataset_business.json", businesses.into()),
    ]
}

const BUSINESSES: &str = r#"{"business_id":"b1","name":"Caf\u00e9, No. 1","city":"Las Vegas","categories":"Food, Coffee & Tea","attributes":{"a":[1]}}
{"business_id":"b2","name":"Bar","city":"Oslo","categories":null}
{"business_id":"b3","name":"Bar","city":"Rome","categories":["Nightlife","Food"]}
{"business_id":"b4","name":"Bar","city":"Rome"}
"#;

#[test]
fn yelp_of_any_year() {
    let now = r#"{"user_id":"ann","name":"Ann","friends":"bob, eve, nobody"}
{"user_id":"bob","name":"Ann","friends":"None"}
{"user_id":"eve","name":"Eve","friends":"ann"}
"#;
    let old = r#"{"user_id":"ann","friends":["bob","eve","nobody"]}
{"user_id":"bob","friends":[]}
{"user_id":"eve","friends":["ann"]}
"#;
    let parts = yelp(now, BUSINESSES);
    let files: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    let imported = import(Dataset::Yelp, folder(&files).path()).unwrap();
    assert_eq!(
        csv(&imported, "ratings"),
        "user,business,stars,date\nann,\"Café, No. 1\",4,2016-03-09T12:30:01Z\n\
         bob,Bar [Oslo],1,2016-03-10T00:00:00Z\nzoe,[b9],2,2016-03-10T00:00:00Z\n"
    );
    assert_eq!(csv(&imported, "friends"), "user,friend\nann,bob\nann,eve\neve,ann\n");
    assert_eq!(
        csv(&imported, "categories"),
        "business,category\n\"Café, No. 1\",Food\n\"Café, No. 1\",Coffee & Tea\nBar [b3],Nightlife\nBar [b3],Food\n"
    );
    assert_eq!(
        csv(&imported, "cities"),
        "business,city\n\"Café, No. 1\",Las Vegas\nBar [Oslo],Oslo\nBar [b3],Rome\nBar [b4],Rome\n"
    );
    assert_eq!(
        imported.notes,
        [
            "1 users have no review; those with friends are in friends",
            "1 users of reviews are not in the file of users; their reviews are kept",
            "1 friendships with someone who is no user were left out",
            "1 businesses of reviews are not in the file of businesses: they go by their id",
        ]
    );
    let parts = yelp(old, BUSINESSES);
    let files: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    let packed = folder(&[("yelp_dataset.tar", &tarred(&files))]);
    for path in [packed.path().join("yelp_dataset.tar"), packed.path().to_path_buf()] {
        let again = import(Dataset::Yelp, &path).unwrap();
        for table in &imported.tables {
            assert_eq!(csv(&again, &table.name), csv(&imported, &table.name));
        }
    }
}

#[test]
fn what_is_wrong_with_yelp_is_said() {
    let lonely = r#"{"user_id":"ann","friends":"None"}"#;
    let parts = yelp(lonely, BUSINESSES);
    let files: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    let imported = import(Dataset::Yelp, folder(&files).path()).unwrap();
    assert_eq!(imported.tables.len(), 3);
    assert!(imported.notes.contains(&"there are no friends, so that table is not written".to_owned()));
    assert!(imported.couplings.iter().all(|coupling| coupling.table != "friends"));
    let error = fails(Dataset::Yelp, &folder(&files[..2]));
    assert_eq!(
        error,
        "IN: has no file whose name ends with business.json; the Yelp open dataset is at yelp.com/dataset"
    );
    let parts = yelp("{\"user_id\":\"ann\"}\n{\"user_id\":7}\n", BUSINESSES);
    let files: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    let error = fails(Dataset::Yelp, &folder(&files));
    assert!(error.contains("_user.json:2: is not the JSON of a user: invalid type"), "{error}");
}

#[test]
fn archives_that_are_odd_are_refused() {
    let outside = tarred(&[("../ratings.csv", b"1,1,1,1\n"), ("movies.csv", b"1,A,B\n")]);
    let archive = |bytes: &[u8]| {
        let folder = folder(&[("a.tar", bytes)]);
        import(Dataset::MovieLens, &folder.path().join("a.tar")).unwrap_err().to_string()
    };
    assert!(archive(&outside).contains("holds a file outside of it: \"../ratings.csv\""));
    assert!(archive(b"").contains("has no ratings.csv"));
    let cut = &tarred(&[("ratings.csv", &b"1,1,1,1\n".repeat(250))])[..1000];
    // The first half ends with a line, so only the archive itself can tell.
    let error = archive(cut);
    assert!(error.contains("is cut off"), "{error}");
    let plain = folder(&[("ratings.csv", b"1,1,1,1\n"), ("b.zip", b"PK\x03\x04rubbish")]);
    let error = |name: &str| import(Dataset::MovieLens, &plain.path().join(name)).unwrap_err().to_string();
    assert!(error("ratings.csv").contains("is neither a folder nor an archive"));
    assert!(error("b.zip").contains("is cut off or no .zip file"));
}
