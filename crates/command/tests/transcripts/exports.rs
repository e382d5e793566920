//! Exports as people have them, from the file to a model with one typed line.

use std::fmt::Write as _;

use crate::harness::Folder;

/// A table of ratings: `row` writes user, film, half stars from 2 to 10 and day of 2016 as a program would.
fn table(head: &str, row: impl Fn(usize, usize, usize, usize) -> String) -> String {
    let mut text = head.to_owned();
    for user in 0..20 {
        for film in 0..12 {
            if (user * 7 + film * 5) % 3 != 0 {
                writeln!(
                    text,
                    "{}",
                    row(user, film, 2 + (user + 2 * film) % 9, (user * 13 + film * 29) % 364 + 1)
                )
                .unwrap();
            }
        }
    }
    text
}

/// The month and the day of the month of a day of 2016, as if all months had 28 days.
fn date(day: usize) -> (usize, usize) {
    (day / 28 % 12 + 1, day % 28 + 1)
}

#[test]
fn a_table_of_excel_with_semicolons_decimal_commas_and_dates_of_germany() {
    let folder = Folder::new();
    let row = |user, film, half: usize, day| {
        let (month, day) = date(day);
        format!("Anna {user};Film {film};{},{};{day:02}.{month:02}.2016", half / 2, 5 * (half % 2))
    };
    folder.write("export.csv", table("\u{feff}Kunde;Film;Stars;Datum\n", row));
    let shown = folder.run("fit export.csv --epochs 5 --json").succeeds();
    shown.says(&["inferred: --modes Kunde,Film,Datum:month --value Stars"]);
    folder.run("fit export.csv --epochs 5 --out model").succeeds().prints(&["model"]);
    let json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path("model/run.json")).unwrap()).unwrap();
    // Nobody read 4,5 as 45 or as a name.
    let mean = json["data"]["mean"].as_f64().unwrap();
    assert!(mean > 1.0 && mean < 5.0, "{mean}");
    assert_eq!(json["model"]["modes"][2]["size"], 12);
}

#[test]
fn a_table_of_pandas_with_its_index() {
    let folder = Folder::new();
    let count = std::cell::Cell::new(0);
    let row = |user, film, half, _| {
        count.set(count.get() + 1);
        format!("{},u{user},F{film},{}", count.get() - 1, half as f64 / 2.0)
    };
    folder.write("index.csv", table(",user,film,rating\n", row));
    folder.run("fit index.csv --epochs 5").succeeds().says(&["inferred: --modes user,film --value rating"]);
    folder.run("check index.csv").succeeds().prints(&["--modes user,film --value rating"]);
}

#[test]
fn the_log_of_movielens_100k_without_headings() {
    let folder = Folder::new();
    let row = |user, film, half: usize, day: usize| {
        format!("{}\t{}\t{}\t{}", user + 1, film + 1, half.div_ceil(2), 874_724_710 + 86_400 * day)
    };
    folder.write("u.data", table("", row));
    let shown = folder.run("fit u.data --epochs 5 --out model").succeeds();
    shown.says(&["inferred: --modes 1,2,4:month --value 3"]);
    // An id of 0 is one as well.
    folder.write("zero.data", "0\t1\t3\t874724710\n".to_owned() + &table("", row));
    folder.run("fit zero.data --epochs 5").succeeds();
    folder.write("zero.tns", "0 1 3\n1 1 2\n");
    folder.run("fit zero.tns").fails(1, &["zero.tns:1", "indices count from 1", "csv"]);
}

#[test]
fn a_dump_with_more_columns_than_are_needed_and_dates_in_words() {
    let folder = Folder::new();
    let row = |user, film, half: usize, day| {
        let (month, day) = date(day);
        let month =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month - 1];
        format!(
            "R{user}x{film},\"{month} {day}, 2016\",C{user},P{film},{},{},fine",
            half.div_ceil(2),
            day % 4
        )
    };
    folder
        .write("dump.csv", table("review_id,review_date,customer_id,product_id,rating,helpful,body\n", row));
    let shown = folder.run("fit dump.csv --epochs 5").succeeds();
    shown.says(&["inferred: --modes customer_id,product_id,review_date:month --value rating"]);
}

#[test]
fn dates_with_slashes_are_those_of_their_country_or_asked_about() {
    let folder = Folder::new();
    let dates = |american: bool, most: usize| {
        let row = |user: usize, film: usize, half: usize, month: usize| {
            let (month, day) = (month % 12 + 1, (user * 7 + film) % most + 1);
            let date =
                if american { format!("{month:02}/{day:02}/2016") } else { format!("{day}/{month}/2016") };
            format!("{user},f{film},{},{date}", half / 2)
        };
        table("user,film,stars,date\n", row)
    };
    let months = |name: &str| -> String {
        let fit = format!("fit {name} --rank 3 --epochs 2 --quiet --out model");
        folder.run(&fit).succeeds().says(&["date:month"]);
        folder.run("concepts model --mode date --json --top 12").succeeds().stdout
    };
    folder.write("us.csv", dates(true, 28));
    folder.write("uk.csv", dates(false, 28));
    let (us, uk) = (months("us.csv"), months("uk.csv"));
    assert!(us.contains("2016-01") && us == uk, "{us} {uk}");
    // No day is beyond the 12th: nobody can tell.
    folder.write("odd.csv", dates(true, 12));
    folder.run("fit odd.csv").fails(1, &["odd.csv:", "month/day or day/month", "write 2017-03-04"]);
}

#[test]
fn a_dump_of_a_database_with_null_and_a_wide_table_of_attributes() {
    let folder = Folder::new();
    let row = |user, film, half: usize, _| {
        let stars = if (user + film) % 10 == 0 { "NULL".into() } else { (half / 2).to_string() };
        format!("{user}\tf{film}\t{stars}")
    };
    folder.write("ratings.tsv", table("user\tfilm\tstars\n", row));
    let users: String = (0..20)
        .map(|user| {
            let (gender, job) = (["f", "m", "NULL"][user % 3], user % 4);
            let age = if user == 7 { String::new() } else { (18 + 2 * user).to_string() };
            format!("{user},Person {user},{gender},{job},{age},{}.5,a|b{}\n", user % 7, ["", "|c"][user % 2])
        })
        .collect();
    folder.write("users.csv", format!("user,name,gender,job,age,height,hobbies\n{users}"));
    folder.run("fit ratings.tsv").fails(1, &["ratings.tsv:", "\"NULL\", which is no value", "--skip-empty"]);
    let fit = "fit ratings.tsv --skip-empty --epochs 5 --rank 4 --couple user=users.csv --out model --report report.html";
    folder.run(fit).succeeds().says(&[
        "rows have an empty cell and are left out, the first is line",
        "inferred: --modes user,film --value stars",
        "users.csv: attributes of user: gender, job as categories; hobbies as lists separated by |; age, \
         height as numbers",
        "left out: name (nearly every row has its own)",
    ]);
    assert!(folder.path("report.html").exists());
    // What comes later is read as what was there: an age in the units of the first, a list by its known items.
    folder.write("new.csv", "user,name,gender,job,age,height,hobbies\n99,Zoe,f,3,80,1.5,c|a\n");
    folder.run("fold-in model --couple user=new.csv --out grown").succeeds();
    folder.write("cells.csv", "user,film\n99,f1\n");
    folder.run("predict grown cells.csv").succeeds().prints(&["99,f1,"]);
}

#[test]
fn cells_without_values_have_zeros_beside_them_and_lists_are_pointed_out() {
    let folder = Folder::new();
    let row = |user, film, half: usize, _| format!("{user},f{film},{}", half / 2);
    folder.write("ratings.csv", table("user,film,stars\n", row));
    let genres: String = (0..12).map(|film| format!("f{film},{}\n", ["x|y", "y", "x"][film % 3])).collect();
    folder.write("films.csv", format!("film,genres\n{genres}"));
    let fit = "fit ratings.csv --epochs 5 --rank 4 --out model --couple";
    folder.run(&format!("{fit} film=films.csv")).succeeds().says(&["genres as lists separated by |"]);
    let named = folder.run(&format!("{fit} film=films.csv:film,genres,missing")).succeeds();
    named.says(&["absent cells are taken as zeros", "looks like lists: split=| splits them"]);
    let split = folder.run(&format!("{fit} film=films.csv:film,genres,split=|")).succeeds();
    assert!(!split.stderr.contains("lists") && !split.stderr.contains("taken as zeros"), "{}", split.stderr);
}

#[test]
fn a_file_of_another_mode_is_not_coupled() {
    let folder = Folder::new();
    let row = |user, film, half: usize, _| format!("{},{},{}", user + 1, film + 1, half.div_ceil(2));
    folder.write("ratings.csv", table("user,item,stars\n", row));
    let brands: String = (1..=12).map(|item| format!("{item},B{}\n", item % 3)).collect();
    folder.write("brand.csv", format!("item,brand\n{brands}"));
    let fit = "fit ratings.csv --modes user,item --value stars --epochs 5 --couple";
    folder.run(&format!("{fit} item=brand.csv,zeros")).succeeds();
    let shown = folder.run(&format!("{fit} user=brand.csv,zeros"));
    shown.fails(2, &["its column item is that of mode item, but it is coupled to user", "couple it to item"]);
    folder.run(&format!("{fit} item=ratings.csv,graph")).fails(2, &["its column user is that of mode user"]);
    // Who says which columns are meant knows better.
    folder.run(&format!("{fit} user=brand.csv:item,brand,zeros")).succeeds();
}
