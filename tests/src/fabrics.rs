//! Fabrics as text for ibsim: made by the simulator crate's generators, or ibsim's own examples.
//!
//! Only the input of a test comes from ferrosm's code; what judges the outcome does not.

use std::fs;
use std::path::PathBuf;

use ferrosm_sim::{generate, ibnet};

/// Where Debian's ibsim-utils keeps its examples.
const EXAMPLES: &str = "/usr/share/doc/ibsim-utils/net-examples";

/// A fabric by its spec (`fat-tree:4`, `torus:4,4,3,2;sharp`, ...) in ibnetdiscover's text form.
///
/// # Panics
/// If the spec is no fabric.
#[must_use]
pub fn by_spec(spec: &str) -> String {
    let fabric = generate::from_spec(spec).unwrap_or_else(|error| panic!("{error}"));
    let mut text = String::new();
    ibnet::write(&fabric, &mut text).unwrap_or_else(|error| panic!("{spec}: {error}"));
    text
}

/// An example of the ibsim-utils package.
///
/// # Panics
/// If it is not installed. Packages' documentation can be excluded from an installation (slim containers do so);
/// then there is nothing at the path, and the message says so.
#[must_use]
pub fn ibsim_example(name: &str) -> String {
    let file = PathBuf::from(EXAMPLES).join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error} (installed without documentation? scripts/test unpacks it again)",
            file.display()
        )
    })
}
