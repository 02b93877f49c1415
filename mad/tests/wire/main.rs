//! Attributes and records on the wire: literals, properties, and the same bytes as libibmad and tshark read them.

mod attributes;
mod libibmad;
mod records;
mod tshark;
