//! Blocks and pieces of any size must not show: tables are compared with a reader that knows no pieces.

use super::*;
use crate::table::{ColumnType, Want};
use proptest::prelude::*;

fn read_with(text: &[u8], block: usize, piece: usize) -> Result<(Vec<Data>, usize), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, text).unwrap();
    let shown = |error: Error| error.to_string().replace(&format!("{}/", folder.path().display()), "");
    let mut text = Text::with_blocks(&path, block).unwrap();
    let wants: [Want; 0] = [];
    let opening = Opening::read(&mut text, &path, false, None, &wants, None).map_err(shown)?;
    let opening = opening.ok_or("nothing")?;
    // `Opening` has read the head already: start again, so that blocks are small.
    let text = Text::with_blocks(&path, block).unwrap();
    let takes: Vec<_> =
        (0..opening.headings.len()).map(|place| Take { place, kind: ColumnType::Id, order: None }).collect();
    let mut columns: Vec<Data> = takes.iter().map(|_| Data::Integers(Vec::new())).collect();
    let Read { rows, .. } =
        read_pieces(text, &path, &opening, (&takes, Empty::Refuse), &mut columns, piece).map_err(shown)?;
    Ok((columns, rows))
}

/// The texts of a column, row by row, and its distinct ones in order.
fn texts(column: &Data) -> (Vec<String>, Vec<String>) {
    let rows: Vec<String> = match column {
        Data::Integers(values) => values.iter().map(i64::to_string).collect(),
        Data::Texts { codes, labels } => codes.iter().map(|&code| labels.get(code).to_owned()).collect(),
        _ => unreachable!("ids"),
    };
    let mut distinct: Vec<String> = Vec::new();
    for row in &rows {
        if !distinct.contains(row) {
            distinct.push(row.clone());
        }
    }
    if let Data::Texts { labels, .. } = column {
        assert!(labels.iter().eq(distinct.iter()), "{labels:?} {distinct:?}");
    }
    (rows, distinct)
}

#[test]
fn line_numbers_are_right_behind_blank_lines_and_lines_in_quotes() {
    let text = "a,b\n\n1,\"x\ny\"\n\n\n2,z\n3\n4,\n";
    for block in [1, 3, 10, 1000] {
        for piece in [1, 5, 1000] {
            let error = read_with(text.as_bytes(), block, piece).unwrap_err();
            assert_eq!(error, "a.csv:8: expected 2 fields separated by commas, found 1", "{block} {piece}");
        }
    }
}

#[test]
fn a_quote_that_is_not_closed_is_found_where_it_opens() {
    let text = "a,b\n1,x\n2,\"y\n3,z\n4,z\n";
    for block in [1, 3, 10, 1000] {
        for piece in [1, 5, 1000] {
            let error = read_with(text.as_bytes(), block, piece).unwrap_err();
            assert_eq!(error, "a.csv:3: the quote that opens column \"b\" is not closed", "{block} {piece}");
        }
    }
}

#[test]
fn quotes_within_plain_fields_do_not_mislead_the_cuts() {
    let mut text = "a,b\n1,5\" pipe\n".to_owned();
    for row in 0..50 {
        text.push_str(&format!("{row},\"one\n{row}\"\n"));
    }
    let whole = read_with(text.as_bytes(), 1 << 20, 1 << 20).unwrap();
    assert_eq!(whole.1, 51);
    for block in [1, 13, 100, 1000] {
        for piece in [1, 7, 64, 500] {
            assert_eq!(read_with(text.as_bytes(), block, piece).unwrap(), whole, "{block} {piece}");
        }
    }
}

#[test]
fn a_block_may_end_with_a_cut_and_within_quotes() {
    let text = b"a\"aaaa\"a,a\"a\n\"aa\naaaaaaaaaa";
    for block in 1..40 {
        for piece in 1..40 {
            let error = read_with(text, block, piece).unwrap_err();
            assert_eq!(error, "a.csv:2: the quote that opens column \"1\" is not closed", "{block} {piece}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read_in_blocks_and_pieces_of_any_size(
        rows in prop::collection::vec(("[ab]{1,2}|[1-9]{1,2}|007", "[a-c,\"\n]{1,4}", "0|[1-9][0-9]{0,17}"), 1..40),
        block in 1usize..200,
        piece in 1usize..100,
        crlf: bool,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("x,y,z{end}");
        for (x, y, z) in &rows {
            text.push_str(&format!("{x},\"{}\",{z}{end}", y.replace('"', "\"\"")));
        }
        let (columns, count) = read_with(text.as_bytes(), block, piece).unwrap();
        prop_assert_eq!(count, rows.len());
        let expected: Vec<Vec<String>> = vec![
            rows.iter().map(|row| row.0.clone()).collect(),
            rows.iter().map(|row| row.1.clone()).collect(),
            rows.iter().map(|row| row.2.clone()).collect(),
        ];
        for (column, expected) in columns.iter().zip(expected) {
            prop_assert_eq!(texts(column).0, expected);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused_the_same_in_blocks_of_any_size(
        bytes in prop::collection::vec(prop::sample::select(b"ab1,;\"\n\r ".to_vec()), 0..80),
        block in 1usize..30,
        piece in 1usize..30,
    ) {
        let whole = read_with(&bytes, 1 << 20, 1 << 20);
        prop_assert_eq!(read_with(&bytes, block, piece), whole);
    }
}
