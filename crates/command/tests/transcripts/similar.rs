//! `s3cmtf similar`, where it is known what is alike.

use crate::recommend::{ALGORITHMS, BAYES, eaters};

#[test]
fn places_of_a_kind_are_alike() {
    for flags in ALGORITHMS {
        let folder = eaters(flags);
        let shown = folder.run("similar model place=Sushi3 --top 7 --json").succeeds();
        let found = &shown.json()[0];
        assert_eq!((&found["mode"], &found["name"]), (&"place".into(), &"Sushi3".into()));
        let list = found["similar"].as_array().unwrap();
        assert_eq!(list.len(), 7);
        assert!(
            list.iter().all(|one| one["name"].as_str().unwrap().starts_with("Sushi")),
            "{flags} {list:?}"
        );
        let shown = folder.run("similar model place=Sushi3").succeeds();
        assert_eq!(shown.stdout.lines().count(), 1 + 10);
        shown.prints(&["place", "likeness", "█"]);
    }
}

#[test]
fn a_name_that_is_not_there_is_answered_with_the_nearest() {
    let folder = eaters(BAYES);
    let parts = "did you mean \"Sushi1\", \"Sushi2\", \"Sushi3\" or one of 5 more?";
    folder.run("similar model place=sushi").fails(2, &["knows no place sushi", parts]);
    folder.run("similar model place=Sushi9").fails(2, &["knows no place Sushi9", "did you mean \"Sushi"]);
    folder.run("similar model place").fails(2, &["which place?"]);
    folder.run("similar model plaec=Sushi1").fails(2, &["did you mean \"place\"?"]);
    folder.run("similar nowhere place=Sushi1").fails(1, &["nowhere"]);
    folder.run("similar model place=Sushi1 --top 0").fails(2, &["--top", "should be from 1 to"]);
    folder.run("similar model Sushi1").fails(2, &["should be MODE=NAME, did you mean place=Sushi1?"]);
    folder.run("similar model place=").fails(2, &["which place? say place=NAME"]);
    folder.run("similar model =Sushi1").fails(2, &["there is no mode"]);
}
