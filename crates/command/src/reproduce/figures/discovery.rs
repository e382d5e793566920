//! Figures 7 and 8, and Table 5: clusters of businesses, and the concepts of one user.

use crate::bench::plot::{Bar, Line, Plot};
use crate::bench::table::Table;
use crate::bench::units::{count, digits};
use crate::reproduce::cell::{Data, Experiment, Outcome};
use crate::reproduce::found::{Curve, Found};
use crate::reproduce::methods;
use crate::reproduce::published::CLUSTERS;
use crate::reproduce::section::{Picture, Row, Section, data_name, of, remarks};
use crate::reproduce::verdict::{Verdict, of_claim};

/// The model that is looked at in Table 5 and Figure 8.
const SHOWN: &str = "nonnegative";

/// An adjusted Rand index below this is hardly more than that of clusters by chance, which is 0.
const CHANCE: f64 = 0.1;

fn is_coupled(outcome: &Outcome) -> bool {
    matches!(outcome.cell.data, Data::World { coupled: true, .. })
}

fn name(outcome: &Outcome) -> String {
    let method = methods::find(&outcome.cell.method).map_or("", |method| method.name);
    format!("{method}, {}", if is_coupled(outcome) { "coupled" } else { "alone" })
}

/// What was found of a method, coupled or not.
fn find<'a>(all: &[&'a Outcome], method: &str, coupled: bool) -> Option<&'a Found> {
    let same = |outcome: &&&Outcome| outcome.cell.method == method && is_coupled(outcome) == coupled;
    all.iter().find(same).and_then(|outcome| outcome.found.as_ref())
}

/// For how many numbers of clusters, from 2 on, the first is above the second, and how many there are.
fn above(first: &Curve, second: &Curve) -> (usize, usize) {
    let pairs = || first.gaps.iter().zip(&second.gaps).skip(1);
    (pairs().filter(|(a, b)| a > b).count(), pairs().count())
}

/// The same of what is gained over one cluster, where nothing is clustered yet.
fn gains_more(first: &Curve, second: &Curve) -> (usize, usize) {
    let gains = |curve: &Curve| {
        let one = curve.gaps.first().copied().unwrap_or_default();
        Curve { gaps: curve.gaps.iter().map(|gap| gap - one).collect(), ..curve.clone() }
    };
    above(&gains(first), &gains(second))
}

fn curves(all: &[&Outcome], curve: fn(&Found) -> &Curve) -> Vec<Line> {
    let line = |outcome: &&Outcome| {
        let gaps = &curve(outcome.found.as_ref()?).gaps;
        let points = gaps.iter().enumerate().map(|(place, &gap)| ((place + 1) as f64, gap)).collect();
        Some(Line { name: name(outcome), points })
    };
    all.iter().filter_map(line).collect()
}

/// Figure 7.
pub(super) fn gaps(outcomes: &[Outcome]) -> Section {
    let all = of(outcomes, Experiment::Discovery);
    let mut rows = Vec::new();
    for method in ["nonnegative-paper", "nonnegative", "signed"] {
        let shown = methods::find(method).map_or(method, |method| method.name);
        let (Some(coupled), Some(plain)) = (find(&all, method, true), find(&all, method, false)) else {
            rows.push(Row::lacking(
                format!("{shown}: gap, coupled above alone"),
                "for all k",
                "a cell is lacking",
            ));
            continue;
        };
        for (of_what, curve) in [
            ("rows as they are", (|found| &found.rows) as fn(&Found) -> &Curve),
            ("directions of rows", |found| &found.directions),
        ] {
            let (clearer, count) = above(curve(coupled), curve(plain));
            let otherwise = "a gap also measures how far the rows as a whole are from an even box, which is its value at k = 1 (see the \
                             table and docs/paper.md), not only whether they form clusters";
            rows.push(Row::words(
                format!("{shown}, {of_what}: gap, coupled above alone"),
                "for all k",
                format!("for {clearer} of {count} k"),
                of_claim(clearer == count, otherwise),
            ));
            let (more, count) = gains_more(curve(coupled), curve(plain));
            rows.push(Row::words(
                format!("{shown}, {of_what}: gap(k) - gap(1), coupled above alone"),
                "-",
                format!("for {more} of {count} k"),
                Verdict::NotComparable("the paper does not have it".into()),
            ));
        }
        if let (Some(coupled), Some(plain)) = (coupled.agreement, plain.agreement) {
            rows.push(Row::words(
                format!("{shown}: agreement of clusters with the planted groups, coupled above alone"),
                "better clusters",
                format!("{coupled:.3} against {plain:.3} (adjusted Rand index)"),
                match coupled.max(plain) < CHANCE {
                    true => Verdict::NotComparable("neither model has found the groups".into()),
                    false => of_claim(coupled > plain, "coupled matrices did not help to find the groups"),
                },
            ));
        }
    }
    let mut table = Table::new(&[
        "model",
        "gap(1) of rows",
        "gap(1) of directions",
        "k picked by rows",
        "k picked by directions",
        "planted k",
        "agreement",
    ]);
    let first = |curve: &Curve| curve.gaps.first().map_or("-".into(), |gap| format!("{gap:.3}"));
    for outcome in &all {
        let Some(found) = &outcome.found else { continue };
        table.row([
            name(outcome),
            first(&found.rows),
            first(&found.directions),
            found.rows.picked.to_string(),
            found.directions.picked.to_string(),
            found.planted.map_or("-".into(), |planted| planted.to_string()),
            found.agreement.map_or("-".into(), |agreement| format!("{agreement:.3}")),
        ]);
    }
    let y_text = |value: f64| format!("{value:.1}");
    let picture = |part: &str, title: &str, lines: Vec<Line>| Picture {
        part: part.to_owned(),
        title: title.to_owned(),
        plot: Plot::Lines { x: "clusters", x_text: count, y: "gap statistic", y_text, y_log: false, lines },
    };
    let data =
        all.first().map_or(String::new(), |outcome| data_name(&outcome.cell.data).replace(", coupled", ""));
    Section {
        key: "fig7",
        title: "Figure 7: gap statistic of businesses, coupled and not coupled".into(),
        paper: "On Yelp, with non-negative factors whose columns are normalised, the gap statistic of the businesses' rows is higher for \
                S3CMTF than for the Tucker decomposition, which has no coupled matrices."
            .into(),
        rows,
        plots: vec![
            picture("rows", &format!("Rows as they are, as in the paper: {data}"), curves(&all, |found| &found.rows)),
            picture("directions", &format!("Directions of rows: {data}"), curves(&all, |found| &found.directions)),
        ],
        tables: vec![(data, table)],
        notes: remarks(&all),
    }
}

/// Table 5.
pub(super) fn clusters(outcomes: &[Outcome]) -> Section {
    let all = of(outcomes, Experiment::Discovery);
    let found = find(&all, SHOWN, true);
    let mut table = Table::new(&["cluster", "businesses", "marked by", "typical"]);
    let mut both = 0;
    let groups = found.map_or(&[][..], |found| &found.clusters);
    for (place, group) in groups.iter().enumerate() {
        let marks = group.marks.iter().filter(|(_, columns)| !columns.is_empty());
        let words: Vec<String> = marks
            .map(|(matrix, columns)| {
                let columns: Vec<String> = columns
                    .iter()
                    .map(|(column, share)| format!("{column} ({:.0} %)", 100.0 * share))
                    .collect();
                let matrix = matrix.split_once('/').map_or(matrix.as_str(), |(_, matrix)| matrix);
                format!("{matrix}: {}", columns.join(", "))
            })
            .collect();
        both += usize::from(words.len() >= 2);
        table.row([
            format!("C{}", place + 1),
            group.size.to_string(),
            words.join("; "),
            group.businesses.join(", "),
        ]);
    }
    let what = "clusters that both a city and a category mark";
    let row = match groups.len() {
        0 => Row::lacking(what, "each of those shown", "the cell is lacking"),
        count => {
            let otherwise =
                "perhaps since people of the made-up world rate in their region, but like things by theme";
            Row::words(
                what,
                "each of those shown",
                format!("{both} of {count}"),
                of_claim(both == count, otherwise),
            )
        }
    };
    let mut theirs = Table::new(&["cluster", "location; category"]);
    CLUSTERS.iter().for_each(|(cluster, words)| theirs.row([(*cluster).into(), (*words).into()]));
    Section {
        key: "table5",
        title: "Table 5: clusters of businesses".into(),
        paper: "Clusters of the businesses' rows of the non-negative coupled model of Yelp are combinations of places and categories.".into(),
        rows: vec![row],
        plots: Vec::new(),
        tables: vec![("The paper's".into(), theirs), ("Ours: columns that a cluster has clearly more often than all do".into(), table)],
        notes: remarks(&all),
    }
}

/// Figure 8.
pub(super) fn user(outcomes: &[Outcome]) -> Section {
    let all = of(outcomes, Experiment::Discovery);
    let found = find(&all, SHOWN, true);
    let mut section = Section {
        key: "fig8",
        title: "Figure 8: the dominant and weak concepts of one user".into(),
        paper: "The norms of the rows of R = G x_1 u say how much each concept of businesses matters to a user: for Tyler, B4 (spa & health, \
                Arizona) is strong and B7 (grill & restaurants, Toronto) weak."
            .into(),
        rows: Vec::new(),
        plots: Vec::new(),
        tables: Vec::new(),
        notes: vec![
            "A norm has no sign and the scale of its column: a concept that a user dislikes is as strong as one that he likes, and a column \
             that is stretched, its core with it, has another norm though nothing is predicted otherwise. Our profile measures what one of \
             a concept adds to predictions, which neither changes."
                .into(),
        ],
    };
    let what = "dominant and weak concepts of a user";
    let Some(user) = found.map(|found| &found.user) else {
        section.rows.push(Row::lacking(what, "B4 and B7 of Tyler", "the cell is lacking"));
        return section;
    };
    let mut norms: Vec<(usize, f64, &Vec<String>)> =
        user.norms.iter().enumerate().map(|(place, (norm, with))| (place, *norm, with)).collect();
    norms.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut table = Table::new(&["concept", "norm of its row of R", "businesses with most of it"]);
    norms.iter().for_each(|(place, norm, with)| {
        table.row([format!("B{}", place + 1), digits(*norm), with.join(", ")])
    });
    let bars = norms
        .iter()
        .map(|(place, norm, _)| Bar { name: format!("B{}", place + 1), value: *norm, text: digits(*norm) })
        .collect();
    let mut profile = Table::new(&["concept", "strength for the user", "1 of it adds", "about"]);
    for (strength, adds, name, about) in &user.profile {
        profile.row([name.clone(), digits(*strength), format!("{adds:+.3}"), about.clone()]);
    }
    if let [(strong, most, _), .., (weak, least, _)] = norms[..] {
        let ours = format!(
            "{}: B{} ({}) and B{} ({})",
            user.name,
            strong + 1,
            digits(most),
            weak + 1,
            digits(least)
        );
        let why = "the user and the concepts are those of other data";
        section.rows.push(Row::words(what, "B4 and B7 of Tyler", ours, Verdict::NotComparable(why.into())));
    }
    let plot = Plot::Bars { axis: "norm of the row of R", axis_text: digits, log: false, bars };
    section.plots.push(Picture {
        part: String::new(),
        title: format!("Concepts of businesses for {}", user.name),
        plot,
    });
    section.tables.push((format!("The paper's norms: {}, who has most ratings", user.name), table));
    section.tables.push(("Our profile of the same user".into(), profile));
    section
}
