//! Downloads of well-known data sets, in their archives. The first byte says which data set is looked for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use s3cmtf::internal::files::{self, Dataset};
use s3cmtf_fuzz::file;

fuzz_target!(|data: &[u8]| {
    let Some((&which, archive)) = data.split_first() else { return };
    let dataset = Dataset::ALL[usize::from(which) % Dataset::ALL.len()];
    let Ok(imported) = files::import(dataset, &file("download.tar", archive)) else { return };
    for table in &imported.tables {
        let rows = table.columns[0].data.len();
        assert!(rows > 0 && table.columns.iter().all(|column| column.data.len() == rows), "{}", table.name);
    }
});
