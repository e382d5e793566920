//! Files that hold more than anybody has memory for, and files that are no tables.

use std::io::Write;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::harness::Folder;

fn packed(text: &[u8], times: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    (0..times).for_each(|_| encoder.write_all(text).unwrap());
    encoder.finish().unwrap()
}

#[test]
fn columns_modes_and_lines_have_a_limit() {
    let folder = Folder::new();
    folder.write("wide.csv", ",".repeat(1_000_000));
    folder.run("check wide.csv").fails(1, &["wide.csv:1: more than 65536 fields separated by commas"]);
    folder.write("wide.tns", "1 ".repeat(1_000_000));
    folder
        .run("check wide.tns")
        .fails(1, &["wide.tns:1: 999999 indices, but a tensor has at most 256 modes"]);
    folder.write("long.csv.gz", packed(&[b'x'; 1 << 20], 100));
    folder.run("check long.csv.gz --modes a,b").fails(1, &["long.csv.gz:1: "]);
    let long = [&b"user,item\na,b\n"[..], &[b'x'; 70 << 20]].concat();
    folder.write("long.csv", [long, vec![b'y'; 40 << 20]].concat());
    folder.run("convert long.csv --modes user,item --out x").fails(1, &["long.csv:3: ", "67108864 bytes"]);
}

#[test]
fn what_unpacks_to_more_than_memory_is_refused() {
    let folder = Folder::new();
    folder.write("bomb.csv.gz", packed(&b"1,2,3\n".repeat(1000), 1000));
    let said = "bomb.csv.gz: holds more than fits into 20 MB of memory (--memory raises that limit)";
    folder.run("check bomb.csv.gz --modes 1,2 --value 3 --memory 20MB").fails(1, &[said]);
    folder.run("convert bomb.csv.gz --modes 1,2 --value 3 --memory 20MB --out x").fails(1, &[said]);
    folder.write("bomb.tns.gz", packed(&b"1 2 3\n".repeat(1000), 1800));
    folder.run("check bomb.tns.gz --memory 20MB").fails(1, &["holds more than fits into 20 MB"]);
    folder.run("check bomb.tns.gz --memory 400MB").succeeds();
}

#[test]
fn packed_files_that_are_no_text_say_so() {
    let folder = Folder::new();
    folder.write("r.csv", "user,item,stars\na,x,1\nb,y,2\nc,x,3\nd,y,4\n");
    folder.run("split r.csv --test 0.5 --to parquet --out parts").succeeds();
    let parquet = std::fs::read(folder.path("parts/train.parquet")).unwrap();
    folder.write("r.parquet.gz", packed(&parquet, 1));
    let said = "r.parquet.gz: is parquet packed with gzip: only text is read packed, so unpack it first";
    folder.run("check r.parquet.gz").fails(1, &[said]);
}

#[test]
fn files_that_are_no_tables_are_named_for_what_they_are() {
    let folder = Folder::new();
    folder.write("nul.csv", [0; 100_000]);
    folder.run("check nul.csv").fails(1, &["nul.csv: is no text: it has bytes of value 0"]);
    folder.write("frame.pkl", b"\x80\x04\x95\x10\x00\x00\x00pandas\n\x1b[31m");
    folder.run("check frame.pkl").fails(1, &["frame.pkl: is a pickle of Python", ".csv, .parquet or .npz"]);
    folder.write("pairs.tsv", "1\t2\n3\t4\n");
    folder
        .run("check pairs.tsv --format tns")
        .fails(1, &["found 2 (--format csv --modes 1,2 counts such pairs)"]);
    folder.run("check pairs.tsv --format csv --modes 1,2").succeeds();
    folder.write("quote.csv", "user,film,stars\n\"a,x,1\nb,y,2\nc,x,3\n");
    folder.run("check quote.csv").fails(1, &["quote.csv:2: the quotes of this record are wrong"]);
    folder.write("nan.csv", "user,film,stars\na,x,1\nb,y,NaN\n");
    folder.run("fit nan.csv").fails(1, &["nan.csv:3: ", "--skip-empty"]);
    let review = "long words ".repeat(1000);
    folder.write("reviews.csv", format!("a,b,c\n{review},{review},x\ny{review},{review},z\n"));
    let shown = folder
        .run("check reviews.csv")
        .fails(2, &["--modes should say", "long words long words long words long wo.."]);
    assert!(shown.stderr.len() < 1000, "{}", shown.stderr);
}

#[cfg(unix)]
#[test]
fn an_import_does_not_wait_for_a_pipe() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap().success());
    folder.run("import movielens pipe --out out").fails(1, &["pipe: is neither a folder nor an archive"]);
    std::fs::create_dir(folder.path("ml")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path("ml/ratings.csv")).status().unwrap().success());
    folder.run("import movielens ml --out out").fails(1, &["ml"]);
}
