//! The only place that opens files: tables in, models in and out.
