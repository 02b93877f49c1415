//! Fabric files: the output of ibnetdiscover, input of ibsim, and the lists of OpenSM and
//! ibdiagnet.
//!
//! The reader detects the format: ibnetdiscover of all versions, ibsim's files, copies from a
//! terminal without tabs or with a shell prompt, ibdiagnet's variant. It accesses no files; the
//! caller provides included files. Contradictions between the two ports of a link are errors; other
//! defects are warnings.
//!
//! Comments, counters and neighbours' LIDs are ignored. Missing values have ibsim's defaults: GUIDs
//! follow the previous one, the system image GUID is the node GUID, links are 4x SDR, LIDs are
//! unset.

mod diagnostics;
#[cfg(test)]
mod dialects;
mod error;
mod join;
mod line;
mod lst;
mod other_formats;
mod read;
mod source;
#[cfg(test)]
mod tests;
mod write;

pub use other_formats::OtherFormat;

pub use error::{ReadError, ReadErrorKind, ReadErrors, Warning, WarningKind};
pub use source::IncludeLoader;
pub use write::write;

use crate::spec::FabricSpec;
use diagnostics::{Diagnostics, SourceLine};
use source::Sources;

/// Maximum number of lines before the first line of a list.
const BANNER_LINES: usize = 1000;

/// The contents of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedFabric {
    /// The fabric, with nodes in the order of the file.
    pub spec: FabricSpec,
    /// The first warnings, at most twenty.
    pub warnings: Vec<Warning>,
    /// Number of further warnings.
    pub warnings_omitted: usize,
}

/// Reads a fabric from a text without includes, ignoring warnings.
///
/// # Errors
/// [`ReadErrors`].
pub fn read(text: &str) -> Result<FabricSpec, ReadErrors> {
    let no_includes = &mut |_: &str| Err("includes are not supported here".to_owned());
    read_file(text.as_bytes(), no_includes).map(|parsed| parsed.spec)
}

/// Reads a fabric from a file in any of the formats. `load` returns the contents of an included
/// file by name.
///
/// # Errors
/// [`ReadErrors`].
pub fn read_file(bytes: &[u8], load: &mut IncludeLoader<'_>) -> Result<ParsedFabric, ReadErrors> {
    let sources = Sources::gather(bytes, load);
    let mut diagnostics = Diagnostics::default();
    let text = sources.files[0].1.as_str();
    let spec = if text.split('\n').take(BANNER_LINES).any(lst::is_line) {
        let (spec, source_lines) = lst::fabric(&sources, &mut diagnostics);
        join::check_lid_count(&spec, &source_lines, &mut diagnostics);
        spec
    } else {
        let records = read::records(&sources, &mut diagnostics);
        join::join(records, &mut diagnostics)
    };
    if spec.nodes.is_empty() && !diagnostics.has_errors() {
        let lines = text.trim_end_matches('\n').split('\n').count();
        match other_formats::detect(text) {
            Some((line, format)) => {
                diagnostics.error(SourceLine::new(0, line), ReadErrorKind::OtherFormat(format))
            }
            None => diagnostics.error(SourceLine::new(0, lines), ReadErrorKind::NoNodes),
        }
    }
    let (warnings, warnings_omitted) = diagnostics.finish(&sources)?;
    Ok(ParsedFabric {
        spec,
        warnings,
        warnings_omitted,
    })
}
