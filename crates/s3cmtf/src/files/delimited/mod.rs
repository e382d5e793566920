//! Text with a record per line and a separator between its fields: `.csv`, `.tsv`, `::`, and `.tns`.

mod blocks;
mod cursor;
mod detect;
mod encoding;
mod opening;
mod piece;
mod records;
mod sample;
mod separator;

pub(super) use blocks::{find_row, read};
pub(super) use encoding::decode;
pub(super) use opening::{Opening, wrong_quotes};
pub(super) use piece::Take;
pub(super) use records::each_record;
pub(super) use separator::Separator;
