//! Made-up data: written, read again, and factorized down to its noise.

use crate::harness::Folder;

#[test]
fn generated_data_can_be_fitted_down_to_its_noise() {
    let folder = Folder::new();
    let flags =
        "--sizes 60,50,8 --entries 12000 --planted-rank 2 --noise 0.1 --test 0.2 --couple 2=genre,zeros,6,90";
    let told = folder.run(&format!("generate --out data {flags}")).succeeds();
    told.prints(&["data/tensor.tns", "data/test.tns", "data/genre.tns", "--couple 2=data/genre.tns,zeros"]);
    folder.run("check data/tensor.tns data/genre.tns").succeeds();
    let fitted = folder
        .run("fit data/tensor.tns --couple 2=data/genre.tns,zeros,weight=0.1 --rank 4 --lambda-reg 0.05 --decay 0.02 --epochs 300 --test data/test.tns --json")
        .succeeds();
    let rmse = fitted.json().last().unwrap()["test_rmse"].as_f64().unwrap();
    assert!(rmse < 0.13, "{rmse}");
}

#[test]
fn the_same_seed_writes_the_same_files() {
    let folder = Folder::new();
    let write = |out: &str, seed: u32| {
        folder.run(&format!("generate yelp --sizes 50,40,5 --entries 500 --couple 1=friends,graph,50,80 --seed {seed} --out {out}")).succeeds();
        std::fs::read(folder.path(&format!("{out}/tensor.tns"))).unwrap()
    };
    let first = write("a", 3);
    assert_eq!(first, write("b", 3));
    assert_ne!(first, write("c", 4));
}

#[test]
fn what_cannot_be_generated_is_said() {
    let folder = Folder::new();
    folder.run("generate movielens --out x").fails(2, &["movielens-10m", "yelp"]);
    folder.run("generate --out x --sizes 5").fails(2, &["--sizes", "2 or more"]);
    folder.run("generate --out x --skew=-1").fails(2, &["--skew"]);
    folder
        .run("generate --out x --couple 9=a,zeros,3,3")
        .fails(2, &["--couple 9=a: there is no mode 9, but 3 modes"]);
    folder.run("generate --out x --couple 1=a,full,3,3").fails(2, &["MODE=NAME,KIND,COLUMNS,ENTRIES"]);
    assert!(!folder.path("x").exists());
}
