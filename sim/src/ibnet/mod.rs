//! Fabrics as text: what ibnetdiscover prints and ibsim loads, and the lists of OpenSM and ibdiagnet.
//!
//! The reader takes what these tools write and what people keep in files: ibnetdiscover of all
//! years, ibsim's own files, copies that lost their tabs or begin with a shell prompt, ibdiagnet's
//! variant; which it is shows in the text. It owns the text forms; it never touches a file (others
//! are asked for what a file includes), and it never repairs a fabric that contradicts itself: where
//! both ends of a cable are described, they must agree. What is merely sloppy is read, and told.
//!
//! What a file can say and a [`FabricSpec`] cannot is dropped: comments, counters, neighbours' LIDs.
//! What it does not say gets ibsim's defaults: GUIDs count on from the last, the system image GUID
//! is the node's GUID, links are 4x SDR, no LID.

#[cfg(test)]
mod dialects;
mod error;
mod join;
mod line;
mod log;
mod lst;
mod read;
mod source;
#[cfg(test)]
mod tests;
mod write;

pub use error::{ReadError, ReadErrorKind, ReadErrors, Warning, WarningKind};
pub use source::IncludeLoader;
pub use write::write;

use crate::spec::FabricSpec;
use log::{Log, Place};
use source::Sources;

/// What stands before the first line of a list, at most.
const BANNER_LINES: usize = 1000;

/// What a file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedFabric {
    /// The fabric; nodes keep the order of the file.
    pub spec: FabricSpec,
    /// What was sloppy, at most twenty.
    pub warnings: Vec<Warning>,
    /// How many more warnings there were.
    pub warnings_left_off: usize,
}

/// Reads a fabric from text that includes no other file, and does not ask what was sloppy.
///
/// # Errors
/// [`ReadErrors`]: what is wrong, with lines.
pub fn read(text: &str) -> Result<FabricSpec, ReadErrors> {
    let alone = &mut |_: &str| Err("no file can be included here".to_owned());
    read_file(text.as_bytes(), alone).map(|reading| reading.spec)
}

/// Reads a fabric from the bytes of a file in any of the forms; `load` gives the content of the files
/// that it includes, by the names that stand in it.
///
/// # Errors
/// [`ReadErrors`]: what is wrong, with lines.
pub fn read_file(bytes: &[u8], load: &mut IncludeLoader<'_>) -> Result<ParsedFabric, ReadErrors> {
    let sources = Sources::gather(bytes, load);
    let mut log = Log::default();
    let text = sources.files[0].1.as_str();
    let spec = if text.split('\n').take(BANNER_LINES).any(lst::is_line) {
        let (spec, places) = lst::fabric(&sources, &mut log);
        join::enough_lids(&spec, &places, &mut log);
        spec
    } else {
        let records = read::records(&sources, &mut log);
        join::join(records, &mut log)
    };
    if spec.nodes.is_empty() && !log.has_errors() {
        let lines = text.trim_end_matches('\n').split('\n').count();
        // The heads of its columns.
        let table = text
            .split('\n')
            .position(|l| l.contains(": IB#") && l.contains(": N#"));
        match table {
            Some(at) => log.error(Place::new(0, at + 1), ReadErrorKind::NetDump),
            None => log.error(Place::new(0, lines), ReadErrorKind::NoNodes),
        }
    }
    let (warnings, warnings_left_off) = log.finish(&sources)?;
    Ok(ParsedFabric {
        spec,
        warnings,
        warnings_left_off,
    })
}
