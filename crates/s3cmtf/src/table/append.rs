//! Tables that come in parts: rows behind rows.

use hashbrown::HashMap;

use super::{Data, Labels};

impl Data {
    /// Puts the rows of another part behind these. Labels keep the order in which they first appear, so the parts that a
    /// table was cut into do not show; ids become texts if those of either part are.
    ///
    /// # Panics
    /// If the two are of different kinds, such as times and numbers.
    pub(crate) fn append(&mut self, part: Data) {
        if matches!(part, Data::Texts { .. }) {
            self.make_texts();
        }
        match (self, part) {
            (Data::Integers(values), Data::Integers(part)) | (Data::Times(values), Data::Times(part)) => {
                take(values, part);
            }
            (Data::Numbers(values), Data::Numbers(part)) => take(values, part),
            (Data::Texts { codes, labels }, Data::Integers(part)) => append_integers(codes, labels, &part),
            (Data::Texts { codes, labels }, Data::Texts { codes: part, labels: others }) => {
                if labels.is_empty() {
                    (*codes, *labels) = (part, others);
                    return;
                }
                let ids: Vec<u32> = others.iter().map(|text| labels.id(text)).collect();
                codes.extend(part.iter().map(|&code| ids[code as usize]));
            }
            _ => panic!("parts of a column are of one kind"),
        }
    }

    /// Turns ids that are whole numbers into the texts that they are written as.
    pub(crate) fn make_texts(&mut self) {
        if let Data::Integers(values) = self {
            let (mut codes, mut labels) = (Vec::with_capacity(values.len()), Labels::new());
            append_integers(&mut codes, &mut labels, values);
            *self = Data::Texts { codes, labels };
        }
    }
}

/// A first part is taken as it is, without a copy.
fn take<T: Copy>(values: &mut Vec<T>, part: Vec<T>) {
    if values.is_empty() {
        *values = part;
    } else {
        values.extend_from_slice(&part);
    }
}

/// Each distinct number is written once: columns of ids have far fewer of them than rows.
fn append_integers(codes: &mut Vec<u32>, labels: &mut Labels, values: &[i64]) {
    let mut ids = HashMap::new();
    codes.extend(
        values.iter().map(|&value| *ids.entry(value).or_insert_with(|| labels.id(&value.to_string()))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(rows: &[&str]) -> Data {
        let mut labels = Labels::new();
        let codes = rows.iter().map(|text| labels.id(text)).collect();
        Data::Texts { codes, labels }
    }

    #[test]
    fn parts_are_one_column_whatever_their_ids_are() {
        let mut data = Data::Integers(Vec::new());
        data.append(Data::Integers(vec![7, -1]));
        data.append(Data::Integers(vec![7, 3]));
        assert_eq!(data, Data::Integers(vec![7, -1, 7, 3]));
        data.append(texts(&["007", "3", "7"]));
        assert_eq!(data, texts(&["7", "-1", "7", "3", "007", "3", "7"]));
        data.append(Data::Integers(vec![3, 9]));
        assert_eq!(data, texts(&["7", "-1", "7", "3", "007", "3", "7", "3", "9"]));
        let mut data = Data::Integers(Vec::new());
        data.append(texts(&["b", "a", "b"]));
        assert_eq!(data, texts(&["b", "a", "b"]));
    }
}
