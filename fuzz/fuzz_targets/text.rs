//! Text tables: separators, headings, quotes, packings. The first byte says what is known of the file.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use s3cmtf::internal::files::{self, Format, Source};
use s3cmtf::internal::table::Empty;
use s3cmtf_fuzz::{check_source, file, let_others_panic, path};

fuzz_target!(init: let_others_panic(), |data: &[u8]| {
    let Some((&how, text)) = data.split_first() else { return };
    let how = usize::from(how);
    let name = ["table.csv", "table.tsv", "table.tns", "table"][how % 4];
    let header = [None, Some(true), Some(false)][how / 4 % 3];
    let format = [None, Some(Format::Csv), Some(Format::Tns)][how / 12 % 3];
    let packed = match how / 36 {
        0 => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
            encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
        }
        1 => zstd::encode_all(text, -1).expect("memory"),
        _ => text.to_vec(),
    };
    let source = Source { paths: vec![file(name, &packed)], format, header, empty: Empty::Refuse };
    let table = check_source(&source, data);
    let count = files::count_text_rows(&source);
    if let (Some(table), Ok(Some(count))) = (table, count) {
        let rows = table.columns[0].data.len();
        // Whether a first record is a heading may depend on which columns are wanted.
        assert!(count.abs_diff(rows) <= 1, "{count} records, but {rows} rows");
        assert_eq!(files::line_of_row(&source, &[], count).expect("a file that was read"), None);
        let held: Vec<bool> = (0..count).map(|row| row % 3 == 0).collect();
        files::divide_text(&source, &held, &path("rest"), &path("held")).expect("as many rows as before");
    }
});
