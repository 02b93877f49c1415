//! The port that was served last, in a file of the state directory: a start without a named port
//! serves it again. It belongs to this host, so it is no record of the store, which replication
//! copies to other hosts.

use std::io;
use std::path::Path;

use ferrosm_mad::ids::PortGuid;
use tracing::warn;

use crate::atomic;

/// Name of the file: the port GUID as text.
const FILE: &str = "port";
const PREFIX: &str = "0x";

/// The port served last; `None` without a record. An unreadable record is logged.
#[must_use]
pub fn read(dir: &Path) -> Option<PortGuid> {
    let path = dir.join(FILE);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            warn!(file = %path.display(), %error, "cannot read record of the served port");
            return None;
        }
    };
    let guid = text
        .trim()
        .strip_prefix(PREFIX)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    if guid.is_none() {
        let error = "no port GUID";
        warn!(file = %path.display(), error, "cannot read record of the served port");
    }
    guid.map(PortGuid)
}

/// Records the port, unless it is recorded already.
///
/// # Errors
/// The file cannot be written.
pub fn write(dir: &Path, guid: PortGuid) -> io::Result<()> {
    let text = format!("{PREFIX}{:016x}\n", guid.0);
    let path = dir.join(FILE);
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    atomic::write_private(&path, |out| out.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_of_the_port_is_read_back_and_garbage_ignored() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()), None);
        for guid in [PortGuid(0x11), PortGuid(u64::MAX)] {
            write(dir.path(), guid).unwrap();
            assert_eq!(read(dir.path()), Some(guid));
        }
        std::fs::write(dir.path().join(FILE), "rail 1").unwrap();
        assert_eq!(read(dir.path()), None);
    }
}
