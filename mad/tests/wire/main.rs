//! Wire formats of attributes and records: recorded bytes, properties, and comparison with libibmad
//! and tshark.

mod attributes;
mod libibmad;
mod records;
mod tshark;
