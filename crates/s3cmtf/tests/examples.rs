//! The programs in `examples/`, each of which fails where what it claims is not so.

#[path = "../examples/arrays.rs"]
mod arrays;
#[path = "../examples/later.rs"]
mod later;
#[path = "../examples/stop.rs"]
mod stop;
#[cfg(feature = "tables")]
#[path = "../examples/tables.rs"]
mod tables;

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn arrays_are_factorized() -> Outcome {
    arrays::main()
}

#[test]
#[cfg(feature = "tables")]
fn tables_are_factorized_with_what_is_known_of_films() -> Outcome {
    tables::main()
}

#[test]
fn what_comes_later_is_taken_up() -> Outcome {
    later::main()
}

#[test]
fn a_rule_stops_a_run() -> Outcome {
    stop::main()
}
