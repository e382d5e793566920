//! Writes inputs to start from: files that are as they should be, one folder per target.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use s3cmtf::Run;
use s3cmtf::internal::files;
use s3cmtf_fuzz::made::{diagonal, model, problem, run, settings, train};
use s3cmtf_fuzz::{Parts, path};

fn main() {
    fixtures();
    texts();
    models();
    problems();
    checkpoints();
    downloads();
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), bytes).expect("a file");
}

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    fs::read(path).expect("a file that is there")
}

/// The files that other programs wrote for the tests.
fn fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/s3cmtf/tests/data");
    for entry in folder.read_dir().expect("the folder of the tests") {
        let path: PathBuf = entry.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let target = match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("npy" | "npz") => "numpy",
            Some("parquet") => "parquet",
            Some("arrow" | "arrows" | "feather") => "arrow",
            _ => continue,
        };
        write(target, name, &read(&path));
    }
}

fn texts() {
    let tables = [
        "user,movie,rating,time\n1,Alien,4.5,2017-03-04T13:05:30Z\n2,\"Heat, The\",3,1488632730\n",
        "1::Toy Story (1995)::Animation|Children's\n2::Heat::Action\n",
        "a;b\n1;2,5\n007;-3e5\n",
        "1\t2\t3.5\r\n4\t5\t6\r\n",
        "1|24|M|technician\n2|53|F|other\n",
        "\u{feff}x,y\n\"say \"\"hi\"\"\",\"two\nlines\"\n caf\u{e9} , b\n",
        "# comment\n1 2 3 4.5\n 4 5 6 -2e-1 # last\n",
        "1 1 1\n2 2 0.5\n",
        "2024-05-31 13:45:00.25+02:00,1\n2024-02-29,2\n",
    ];
    for (number, table) in tables.iter().enumerate() {
        for how in [0u8, 1, 36, 39, 72, 76, 80, 84, 96, 107] {
            let input = [&[how], table.as_bytes()].concat();
            write("text", &format!("{number}.{how}"), &input);
        }
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(table.as_bytes()).expect("memory");
        write("text", &format!("{number}.gz"), &[&[72], &gzip.finish().expect("memory")[..]].concat());
        let zstd = zstd::encode_all(table.as_bytes(), 3).expect("memory");
        write("text", &format!("{number}.zst"), &[&[72], &zstd[..]].concat());
        write("indices", &number.to_string(), table.as_bytes());
    }
    for (number, matrix) in [
        "real general\n% why\n\n2 3 2\n1 3 -1.5e1\n2 1 4\n",
        "integer symmetric\r\n3 3 2\r\n2 2 7\r\n3 1 4\r\n",
        "real skew-symmetric\n2 2 1\n2 1 4",
        "pattern general\n2 2 1\n2 1\n",
    ]
    .iter()
    .enumerate()
    {
        let text = format!("%%MatrixMarket matrix coordinate {matrix}");
        write("matrix_market", &number.to_string(), text.as_bytes());
    }
}

fn models() {
    let (whole, record) = run();
    write("model", "record", &[b"R", &record[..]].concat());
    write("model", "whole", whole);
    write("model", "parts", &Parts::input(whole, "s3cmtf"));
    let first =
        String::from_utf8_lossy(&Parts::input(whole, "s3cmtf")).replacen("\"format\":2", "\"format\":1", 1);
    write("model", "first", first.as_bytes());
    let [params, ..] = settings();
    let trained = train(params).1;
    for (name, model) in [("diagonal", diagonal()), ("again", model()), ("trained", trained.model.clone())] {
        let folder = path(name);
        files::save(&Run { model, record: trained.record.clone() }, &folder).expect("a folder");
        write("model", name, &Parts::input(&read(folder.join("model.safetensors")), "s3cmtf"));
    }
}

fn problems() {
    let file = path("problem");
    files::save_problem(&problem(), &file).expect("a file");
    write("problem", "whole", &read(&file));
    write("problem", "parts", &Parts::input(&read(&file), "s3cmtf-problem"));
}

fn checkpoints() {
    for (number, params) in settings().into_iter().enumerate() {
        for (epoch, checkpoint) in train(params).0.iter().enumerate() {
            let folder = path("run");
            files::save_checkpoint(checkpoint, &folder).expect("a folder");
            let bytes = read(folder.join("checkpoint.safetensors"));
            write("checkpoint", &format!("{number}.{epoch}"), &Parts::input(&bytes, "s3cmtf-checkpoint"));
            write("checkpoint", "whole", &bytes);
        }
    }
}

fn downloads() {
    let sets: [&[(&str, &str)]; 5] = [
        &[
            ("ml/ratings.csv", "userId,movieId,rating,timestamp\n1,2,3.5,1112486027\n2,2,4,1112486028\n"),
            ("ml/movies.csv", "movieId,title,genres\n2,\"Jumanji, (1995)\",Adventure|Children\n"),
        ],
        &[
            ("ml-1m/ratings.dat", "1::1193::5::978300760\n2::661::3::978302109\n"),
            ("ml-1m/movies.dat", "1193::One Flew (1975)::Drama\n661::James (1996)::Animation|Musical\n"),
        ],
        &[
            ("ml-100k/u.data", "196\t242\t3\t881250949\n186\t302\t3\t891717742\n"),
            ("ml-100k/u.item", "242|Kolya (1996)|24-Jan-1997||http|0|0|0|0|0|1|0|0|0|0|0|0|0|0|0|0|0|0|0\n"),
            ("ml-100k/u.genre", "unknown|0\nAction|1\n"),
        ],
        &[
            (
                "n/combined_data_1.txt",
                "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n30878,4,2005-12-26\n",
            ),
            ("n/movie_titles.csv", "1,2003,Dinosaur Planet\n2,NULL,Isle of Man, The\n"),
        ],
        &[
            (
                "y/yelp_academic_dataset_review.json",
                "{\"user_id\":\"u\",\"business_id\":\"b\",\"stars\":4.0,\"date\":\"2018-07-07 22:09:11\"}\n",
            ),
            ("y/yelp_academic_dataset_user.json", "{\"user_id\":\"u\",\"friends\":\"v, w\"}\n"),
            (
                "y/yelp_academic_dataset_business.json",
                "{\"business_id\":\"b\",\"city\":\"Bern\",\"categories\":\"Food, Bars\"}\n",
            ),
        ],
    ];
    for (number, set) in sets.iter().enumerate() {
        let which = number.saturating_sub(2) as u8;
        let mut tar = tar::Builder::new(Vec::new());
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, text) in set.iter() {
            let mut header = tar::Header::new_ustar();
            header.set_size(text.len() as u64);
            tar.append_data(&mut header, name, text.as_bytes()).expect("memory");
            let stored = zip::write::SimpleFileOptions::default();
            let stored = stored.compression_method(zip::CompressionMethod::Stored);
            zip.start_file(*name, stored).expect("a name");
            zip.write_all(text.as_bytes()).expect("memory");
        }
        let (tar, zip) = (tar.into_inner().expect("memory"), zip.finish().expect("memory").into_inner());
        write("download", &format!("{number}.tar"), &[&[which], &tar[..]].concat());
        write("download", &format!("{number}.zip"), &[&[which], &zip[..]].concat());
    }
}
