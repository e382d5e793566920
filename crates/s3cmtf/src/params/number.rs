//! Numbers of settings. JSON has none that are not finite; here they are texts, so that they can be refused by their name.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                let odd = text.parse::<f64>().ok().filter(|value| !value.is_finite());
                odd.map(Number).ok_or_else(|| E::invalid_type(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

/// A number as a value of a setting.
pub(super) fn value(number: f64) -> Value {
    if number.is_finite() { number.into() } else { number.to_string().into() }
}

pub(super) fn some_double<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Option::<Number>::deserialize(deserializer).map(|number| number.map(|number| number.0))
}

pub(super) fn single<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f32, D::Error> {
    Number::deserialize(deserializer).map(|number| number.0 as f32)
}

pub(super) fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f32>, D::Error> {
    Option::<Number>::deserialize(deserializer).map(|number| number.map(|number| number.0 as f32))
}
