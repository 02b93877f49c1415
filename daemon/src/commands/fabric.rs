//! Fabrics on paper that a command line names: a file, or a shape such as `fat-tree:8`.

use std::path::Path;

use ferrosm_sim::generate::from_spec;
use ferrosm_sim::ibnet;
use ferrosm_sim::spec::FabricSpec;

use crate::failure::Failure;

const SHAPES: &str =
    "A fabric is a file in ibnetdiscover's form, or a shape such as fat-tree:8 or torus:4,4,4,2.";

/// Reads the file of that name, or makes the fabric of that shape.
///
/// # Errors
/// If it is neither: with the line where the file is wrong.
pub fn load(text: &str) -> Result<FabricSpec, Failure> {
    let path = Path::new(text);
    match std::fs::read(path) {
        Ok(bytes) => ibnet::read(&String::from_utf8_lossy(&bytes))
            .map_err(|e| Failure::job(format!("{text}: {e}"))),
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::job(format!("cannot read {text}: {e}")))
        }
        Err(_) => from_spec(text).map_err(|e| {
            // What has no shape's name before a colon was meant as a file.
            if is_path(text) {
                Failure::with_hint(format!("there is no file {text}"), SHAPES)
            } else {
                Failure::with_hint(e, SHAPES)
            }
        }),
    }
}

fn is_path(text: &str) -> bool {
    text.contains('/')
        || Path::new(text).extension().is_some_and(|e| !e.is_empty()) && !text.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn files_and_shapes_are_told_apart() {
        let dir = TempDir::new("fabric-load");
        let file = dir.path().join("x.net");
        std::fs::write(
            &file,
            "Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n\nCa 1 \"H-1\"\n[1] \"S-1\"[1]\n",
        )
        .unwrap();
        assert_eq!(load(&file.to_string_lossy()).unwrap().nodes.len(), 2);
        assert_eq!(load("star:3").unwrap().nodes.len(), 4);
        let told = load("nowhere.net").unwrap_err().to_string();
        assert!(told.starts_with("there is no file nowhere.net"), "{told}");
        let told = load("pyramid:3").unwrap_err().to_string();
        assert!(told.contains("unknown shape `pyramid`"), "{told}");
    }

    #[test]
    fn a_wrong_file_is_told_with_its_line() {
        let dir = TempDir::new("fabric-wrong");
        let file = dir.path().join("x.net");
        std::fs::write(&file, "Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n").unwrap();
        let told = load(&file.to_string_lossy()).unwrap_err().to_string();
        assert!(told.contains("x.net: line 2: "), "{told}");
    }
}
