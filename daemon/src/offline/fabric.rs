//! Fabrics named on the command line: a file, or a generated fabric such as `fat-tree:8`.
//!
//! Opens the file and the files that it includes, which are relative to its directory. Parsers are
//! in `ferrosm_sim`.

use std::path::Path;

use ferrosm_fabric::observed::ObservedFabric;
use ferrosm_sim::generate::{SpecProblem, SpecTextError, from_spec};
use ferrosm_sim::ibnet;
use ferrosm_sim::spec::FabricSpec;
use tracing::warn;

use super::components::components;
use crate::failure::Failure;
use ferrosm_opensm_compat::keyword::nearest_keyword;

/// An example of each topology.
const EXAMPLES: [(&str, &str); 16] = [
    ("fat-tree", "fat-tree:8"),
    ("fat-tree2", "fat-tree2:36,36,18"),
    ("xgft", "xgft:3,4,5/1,2,3"),
    ("pgft", "pgft:18,12/1,9/1,2"),
    ("rail-pods", "rail-pods:4,32,8,16,0"),
    ("torus", "torus:4,4,3,2"),
    ("mesh", "mesh:3,3"),
    ("hyperx", "hyperx:3,4,2"),
    ("dragonfly", "dragonfly:4,9,2,2"),
    ("dragonfly+", "dragonfly+:5,2,2,2,3"),
    ("slim-fly", "slim-fly:5"),
    ("random", "random:30,4,1,7"),
    ("ring", "ring:5,2"),
    ("star", "star:7"),
    ("single-switch", "single-switch:7"),
    ("back-to-back", "back-to-back"),
];

/// Reads a fabric file or generates a fabric.
///
/// # Errors
/// Neither a file nor a topology (a usage error), or an invalid file (with the line).
pub fn load(text: &str) -> Result<FabricSpec, Failure> {
    let path = Path::new(text);
    match std::fs::read(path) {
        Ok(bytes) => parse_file(path, &bytes).map_err(|e| Failure::runtime(format!("{text}: {e}"))),
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::runtime(format!("cannot read {text}: {e}")))
        }
        Err(_) => from_spec(text).map_err(|e| Failure::Usage(usage_error(text, &e))),
    }
}

/// Logs that a fabric has several parts without a common switch, such as the planes of hosts with
/// several ports.
pub fn warn_of_parts(fabric: &ObservedFabric) {
    let parts = components(fabric);
    let parts = parts.iter().filter(|part| part.nodes.len() > 1).count();
    if parts > 1 {
        let effect =
            "each needs an SM on one of its ports; discovery from one does not show the others";
        warn!(parts, effect, "fabric has parts that share no switch");
    }
}

/// Error for a text that is neither a file nor a topology, with an example on a second line.
fn usage_error(text: &str, error: &SpecTextError) -> String {
    let shape = text
        .split([':', ';', '?'])
        .next()
        .unwrap_or_default()
        .trim();
    let message = if text.trim().is_empty() {
        "the name of the fabric is empty".to_owned()
    } else if is_path(text) {
        format!("there is no file {text}")
    } else if !matches!(error.problem, SpecProblem::UnknownTopology(_)) {
        error.to_string()
    } else if let Some(suggestion) = nearest_keyword(shape, EXAMPLES.iter().map(|(name, _)| *name))
    {
        format!("`{text}`: unknown topology `{shape}`: did you mean `{suggestion}`?")
    } else if text.contains(':') {
        error.to_string()
    } else {
        format!("there is no file `{text}`, and no topology of that name")
    };
    let example = EXAMPLES.iter().find(|(name, _)| *name == shape);
    let mut example = example
        .map_or("fat-tree:8", |(_, example)| *example)
        .to_owned();
    if matches!(error.problem, SpecProblem::UnknownOption(_)) {
        "fat-tree:8;sharp".clone_into(&mut example);
    }
    format!(
        "{message}\n  A fabric is a file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet) or a topology such as {example}: \
         `ferrosm demo --help` lists them."
    )
}

/// Parses a file; warnings are logged.
fn parse_file(path: &Path, bytes: &[u8]) -> Result<FabricSpec, ibnet::ReadErrors> {
    let mut include =
        |name: &str| std::fs::read(path.with_file_name(name)).map_err(|e| e.to_string());
    let reading = ibnet::read_file(bytes, &mut include)?;
    for warning in &reading.warnings {
        warn!(file = %path.display(), %warning, "fabric file warning");
    }
    if reading.warnings_omitted > 0 {
        warn!(file = %path.display(), suppressed = reading.warnings_omitted, "further fabric file warnings");
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
    fn files_and_shapes_are_distinguished() {
        let dir = TempDir::new("fabric-load");
        let file = dir.path().join("x.net");
        std::fs::write(
            &file,
            "Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n\nCa 1 \"H-1\"\n[1] \"S-1\"[1]\n",
        )
        .unwrap();
        assert_eq!(load(&file.to_string_lossy()).unwrap().nodes.len(), 2);
        assert_eq!(load("star:3").unwrap().nodes.len(), 4);
        let error = load("nowhere.net").unwrap_err().to_string();
        assert!(error.starts_with("there is no file nowhere.net"), "{error}");
        let error = load("pyramid:3").unwrap_err().to_string();
        assert!(error.contains("unknown topology `pyramid`"), "{error}");
    }

    #[test]
    fn examples_are_valid() {
        for (shape, example) in EXAMPLES {
            assert!(
                load(example).is_ok() && example.starts_with(shape),
                "{example}"
            );
            let error = load(&format!("{shape}:-")).err().map(|e| e.to_string());
            assert!(error.is_none_or(|t| t.contains(example)), "{shape}");
        }
        assert!(load("fat-tree:8;sharp").is_ok());
    }

    #[test]
    fn invalid_file_is_reported_with_its_line() {
        let dir = TempDir::new("fabric-wrong");
        let file = dir.path().join("x.net");
        std::fs::write(&file, "Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n").unwrap();
        let error = load(&file.to_string_lossy()).unwrap_err().to_string();
        assert!(error.contains("x.net: line 2, column 5: "), "{error}");
    }

    #[test]
    fn included_files_are_relative_to_the_file() {
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
