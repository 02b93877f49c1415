//! Wire formats of attributes and records: recorded bytes, properties, and comparison with
//! libibmad.

mod attributes;
mod libibmad;
mod records;
