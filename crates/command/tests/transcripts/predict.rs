//! `s3cmtf predict` and `s3cmtf evaluate`.

use std::fs;

use crate::harness::Folder;

#[test]
fn a_prediction_per_line_of_coordinates() {
    let folder = Folder::with_model();
    folder.write("cells.tns", "# three cells\n1 1 1\n12\t8\t4\r\n\n1 1 1\n");
    let shown = folder.run("predict model cells.tns").succeeds();
    let values: Vec<f32> = shown.stdout.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), 3);
    assert_eq!(values[0], values[2]);
    assert_eq!(shown.stderr, "");
}

#[test]
fn standard_deviations_stand_behind_predictions() {
    let folder = Folder::with_ratings();
    folder.run("fit ratings.tns --rank 2 --out bayes --quiet").succeeds();
    let plain = folder.run("predict bayes test.tns").succeeds().stdout;
    let both = folder.run("predict bayes test.tns --std").succeeds().stdout;
    for (plain, both) in plain.lines().zip(both.lines()) {
        let (value, std) = both.split_once(' ').unwrap();
        assert_eq!(value, plain);
        assert!(std.parse::<f32>().unwrap() > 0.0, "{both}");
    }
    assert_eq!(plain.lines().count(), both.lines().count());
    folder.run("evaluate bayes test.tns").succeeds().prints(&["within std"]);
    folder.run("fit ratings.tns --rank 2 --algorithm sgd --out sgd --quiet").succeeds();
    folder.run("predict sgd test.tns --std").fails(1, &["no standard deviations"]);
}

#[test]
fn intervals_stand_behind_predictions_and_have_the_prediction_in_their_middle() {
    let folder = Folder::with_ratings();
    folder.run("fit ratings.tns --rank 2 --out bayes --quiet").succeeds();
    let shown = folder.run("predict bayes test.tns --std --interval 0.9").succeeds().stdout;
    for line in shown.lines() {
        let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        let [value, std, low, high] = numbers[..] else { panic!("{line}") };
        assert!((high - value - 1.644854 * std).abs() < 1e-4, "{line}");
        assert!((value - low - 1.644854 * std).abs() < 1e-4, "{line}");
    }
    let alone = folder.run("predict bayes test.tns --interval 0.5").succeeds().stdout;
    assert!(alone.lines().all(|line| line.split(' ').count() == 3), "{alone}");
    for level in ["0", "1", "90", "-0.5", "nan"] {
        folder
            .run(&format!("predict bayes test.tns --interval {level}"))
            .fails(2, &["the level of an interval should be above 0 and below 1, such as 0.9, but is"]);
    }
    folder.run("predict bayes test.tns --interval most").fails(2, &["should be a number"]);
    folder.run("fit ratings.tns --rank 2 --algorithm sgd --out sgd --quiet").succeeds();
    folder.run("predict sgd test.tns --interval 0.9").fails(1, &["no standard deviations"]);
}

#[test]
fn an_interval_of_a_table_is_two_columns_and_that_of_answers_one_of_probabilities() {
    let folder = Folder::new();
    let mut answers = String::from("user,film,seen\n");
    for place in 0..240 {
        answers += &format!("u{},f{},{}\n", place % 20, place / 20, (place * 7 / 3 + place % 20) % 2);
    }
    folder.write("answers.csv", &answers);
    let fit = "fit answers.csv --modes user,film --value seen --likelihood logistic --rank 2 --epochs 30 --out model --quiet";
    folder.run(fit).succeeds();
    folder.write("cells.csv", "user,film\nu1,f2\nu9,f9\n");
    let shown = folder.run("predict model cells.csv --interval 0.8").succeeds().stdout;
    assert!(shown.starts_with("user,film,predicted_seen,low,high\n"), "{shown}");
    for line in shown.lines().skip(1) {
        let numbers: Vec<f64> = line.split(',').skip(2).map(|number| number.parse().unwrap()).collect();
        let [value, low, high] = numbers[..] else { panic!("{line}") };
        assert!(0.0 < low && low < value && value < high && high < 1.0, "{line}");
    }
}

#[test]
fn predictions_go_to_a_file() {
    let folder = Folder::with_model();
    folder.write("cells.tns", "1 1 1\n2 2 2\n");
    let printed = folder.run("predict model cells.tns --clip").succeeds().stdout;
    let before = folder.list("").len();
    let shown = folder.run("predict model cells.tns --clip --out values.txt").succeeds();
    assert_eq!(shown.stdout, "");
    assert_eq!(fs::read_to_string(folder.path("values.txt")).unwrap(), printed);
    assert_eq!(folder.list("").len(), before + 1);
}

#[test]
fn predictions_need_a_place_for_their_file() {
    let folder = Folder::with_model();
    folder.run("predict model test.tns --out model").fails(1, &["model"]);
    folder.run("predict model test.tns --out nowhere/values.txt").fails(1, &["nowhere"]);
}

#[test]
fn clipped_predictions_stay_within_the_training_values() {
    let folder = Folder::with_model();
    let shown = folder.run("predict model test.tns --clip").succeeds();
    for line in shown.stdout.lines() {
        assert!((1.0..=5.0).contains(&line.parse::<f32>().unwrap()), "{line}");
    }
}

#[test]
fn cells_that_cannot_be_predicted() {
    let folder = Folder::with_model();
    folder.write("short.tns", "1 1 1\n1 1\n");
    folder.run("predict model short.tns").fails(1, &["short.tns:2:"]);
    folder.write("zero.tns", "1 0 1\n");
    folder.run("predict model zero.tns").fails(1, &["zero.tns:1:"]);
    folder.write("far.tns", "1 1 1\n1 1 900\n");
    folder.run("predict model far.tns").fails(1, &["far.tns:2:", "900"]);
    folder.run("predict model nowhere.tns").fails(1, &["nowhere.tns"]);
}

#[test]
fn unknown_ids_are_predicted_as_the_average_and_noted() {
    let folder = Folder::with_model();
    folder.write("late.tns", "1 1 1 4\n13 1 1 4\n");
    let note = "note: late.tns: 1 of 2 entries have an id that is not in the model";
    let shown = folder.run("predict model late.tns").succeeds().says(&[note]);
    assert_eq!(shown.stdout.lines().count(), 2);
    folder.run("evaluate model late.tns").succeeds().says(&[note]).prints(&["unknown       1\n"]);
}

#[test]
fn evaluate_prints_the_errors() {
    let folder = Folder::with_model();
    let shown = folder.run("evaluate model test.tns --plain").succeeds();
    shown.prints(&["entries       40\n", "RMSE", "MAE"]);
    let shown = folder.run("evaluate model test.tns --json --clip").succeeds();
    let [errors] = &shown.json()[..] else { panic!("{}", shown.stdout) };
    assert_eq!(errors["entries"], 40);
    assert_eq!(errors["unknown"], 0);
    assert!(errors["mae"].as_f64().unwrap() <= errors["rmse"].as_f64().unwrap());
}

#[test]
fn evaluate_refuses_what_does_not_fit_the_model() {
    let folder = Folder::with_model();
    folder.write("matrix.tns", "1 1 5\n");
    folder.run("evaluate model matrix.tns").fails(1, &["matrix.tns:1:"]);
    folder.write("empty.tns", "");
    folder.run("evaluate model empty.tns").fails(1, &["empty.tns"]);
    folder.run("evaluate ratings.tns test.tns").fails(1, &["ratings.tns"]);
    folder.run("evaluate nowhere test.tns").fails(1, &["nowhere"]);
}

#[test]
fn a_model_that_was_cut_short_is_refused() {
    let folder = Folder::with_model();
    for name in ["model.safetensors", "run.json"] {
        let path = folder.path("model").join(name);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        folder.run("evaluate model test.tns").fails(1, &["model"]);
        fs::write(&path, bytes).unwrap();
    }
    folder.run("evaluate model test.tns").succeeds();
}

#[test]
fn a_time_that_is_not_given_is_the_average_one_and_can_be_said() {
    let folder = crate::recommend::eaters(crate::recommend::BAYES);
    folder.write("cells.csv", "user,place\nsue1,Sushi3\nsue2,Burger1\n");
    let shown = folder.run("predict model cells.csv").succeeds();
    let shown = shown.says(&[
        "cells.csv: has no column date; predictions are for the average date (--at date=NAME says for which)",
    ]);
    let values = |text: &str| -> Vec<f64> {
        text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    let average = values(&shown.stdout);
    // The mean of the predictions with each month, as a prediction is linear in the row of its month.
    let mut mean = vec![0.0; 2];
    for month in 1..=6 {
        let own =
            folder.run(&format!("predict model cells.csv --no-clip --at date=2017-{month:02}")).succeeds();
        assert_eq!(own.stderr, "");
        mean.iter_mut().zip(values(&own.stdout)).for_each(|(sum, value)| *sum += value / 6.0);
    }
    let average_as_it_is = values(&folder.run("predict model cells.csv --no-clip").succeeds().stdout);
    assert!(average_as_it_is.iter().zip(&mean).all(|(a, b)| (a - b).abs() < 1e-4), "{average:?} {mean:?}");
    // The same as a column would say.
    folder.write("dated.csv", "user,place,date\nsue1,Sushi3,2017-02-03\nsue2,Burger1,2017-02-14\n");
    let [typed, dated] = ["cells.csv --at date=2017-02", "dated.csv"]
        .map(|given| values(&folder.run(&format!("predict model {given}")).succeeds().stdout));
    assert_eq!(typed, dated);
    // Only times have an average that means something.
    folder.write("users.csv", "user\nsue1\n");
    folder.run("predict model users.csv").fails(1, &["has no column \"place\""]);
    folder.run("predict model cells.csv --at date=2031-01").fails(2, &["they go from 2017-01 to 2017-06"]);
}
