//! Columns of length one, for non-negative models.
