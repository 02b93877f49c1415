//! Fabrics on paper that a command line names: a file, or a shape such as `fat-tree:8`.
//!
//! Owns which files are opened (also those that a file includes, looked for beside it); never knows
//! what stands in them.

use std::path::Path;

use ferrosm_sim::generate::from_spec;
use ferrosm_sim::ibnet;
use ferrosm_sim::spec::FabricSpec;
use tracing::warn;

use crate::failure::Failure;

const SHAPES: &str = "A fabric is a file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or a shape such as fat-tree:8 or torus:4,4,4,2: \
     see docs/topologies.md.";

/// Reads the file of that name, or makes the fabric of that shape.
///
/// # Errors
/// If it is neither: with the line where the file is wrong.
pub fn load(text: &str) -> Result<FabricSpec, Failure> {
    let path = Path::new(text);
    match std::fs::read(path) {
        Ok(bytes) => read(path, &bytes).map_err(|e| Failure::job(format!("{text}: {e}"))),
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

/// Reads the bytes of a file; what was sloppy in it goes into the log.
fn read(path: &Path, bytes: &[u8]) -> Result<FabricSpec, ibnet::ReadErrors> {
    let mut beside =
        |name: &str| std::fs::read(path.with_file_name(name)).map_err(|e| e.to_string());
    let reading = ibnet::read_file(bytes, &mut beside)?;
    for warning in &reading.warnings {
        warn!(file = %path.display(), "{warning}");
    }
    if reading.warnings_left_off > 0 {
        warn!(file = %path.display(), "and {} more such lines", reading.warnings_left_off);
    }
    Ok(reading.spec)
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
        assert!(told.contains("x.net: line 2, column 5: "), "{told}");
    }

    #[test]
    fn included_files_are_looked_for_beside_the_file() {
        let dir = TempDir::new("fabric-include");
        let file = dir.path().join("x.net");
        std::fs::write(
            &file,
            "include \"host.net\"\nSwitch 2 \"s\"\n[1] \"h\"[1]\n",
        )
        .unwrap();
        std::fs::write(dir.path().join("host.net"), "Hca 1 \"h\"\n[1] \"s\"[1]\n").unwrap();
        let spec = load(&file.to_string_lossy()).unwrap();
        assert_eq!((spec.nodes.len(), spec.links.len()), (2, 1));
    }
}
