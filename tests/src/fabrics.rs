//! Fabrics in ibsim's text format, from the simulator's generators or from ibsim's examples.
//!
//! ferrosm's code generates only the input of tests; the checks of their results do not use it.

use std::fs;
use std::path::PathBuf;

use ferrosm_sim::{generate, ibnet};

/// Directory of the examples of Debian's ibsim-utils.
const EXAMPLES: &str = "/usr/share/doc/ibsim-utils/net-examples";

/// Generates a fabric from a spec (`fat-tree:4`, `torus:4,4,3,2;sharp`, ...) in ibnetdiscover's
/// text format.
///
/// # Panics
/// If the spec is invalid.
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
/// If the example is not installed. Slim containers install packages without documentation, which
/// includes the examples.
#[must_use]
pub fn ibsim_example(name: &str) -> String {
    let file = PathBuf::from(EXAMPLES).join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error} (installed without documentation? scripts/test --install unpacks it)",
            file.display()
        )
    })
}
