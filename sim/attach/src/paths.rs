//! Paths that belong to the simulated fabric, and their replacements.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// A path of the simulated fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SimulatedPath {
    /// `/dev/infiniband/umadN`.
    Umad(u32),
    /// `/dev/infiniband/issmN`.
    Issm(u32),
    /// Below `/sys/class`: the relative path.
    Sys(String),
    /// `/dev/infiniband` itself, or another name in it: the relative path, possibly empty.
    Dev(String),
}

/// Classes of `/sys/class` in which attached programs see only the simulated fabric. `scsi_host` is
/// included, because the machine's storage is not connected by simulated devices.
const CLASSES: [&str; 6] = [
    "infiniband",
    "infiniband_mad",
    "infiniband_verbs",
    "infiniband_cm",
    "infiniband_srp",
    "scsi_host",
];

/// Classifies a path. Only absolute paths can be of the simulated fabric; repeated slashes and
/// single dots are ignored.
pub(crate) fn classify(path: &[u8]) -> Option<SimulatedPath> {
    // Quick check that rejects nearly all paths.
    if !path.starts_with(b"/sys") && !path.starts_with(b"/dev") && !path.starts_with(b"//") {
        return None;
    }
    let path = std::str::from_utf8(path).ok()?;
    let mut names = path
        .split('/')
        .filter(|name| !name.is_empty() && *name != ".");
    match (names.next()?, names.next()?) {
        ("sys", "class") => {
            let class = names.next()?;
            if !CLASSES.contains(&class) {
                return None;
            }
            let mut components = vec![class];
            components.extend(names);
            join_within(&components).map(SimulatedPath::Sys)
        }
        ("dev", "infiniband") => {
            let remaining: Vec<&str> = names.collect();
            if let [name] = remaining[..] {
                if let Some(index) = device_number(name, "umad") {
                    return Some(SimulatedPath::Umad(index));
                }
                if let Some(index) = device_number(name, "issm") {
                    return Some(SimulatedPath::Issm(index));
                }
            }
            join_within(&remaining).map(SimulatedPath::Dev)
        }
        _ => None,
    }
}

/// The joined path; `None` if it contains `..`.
fn join_within(names: &[&str]) -> Option<String> {
    (!names.contains(&"..")).then(|| names.join("/"))
}

fn device_number(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

impl SimulatedPath {
    /// Path in the sysfs directory.
    pub(crate) fn in_sysfs_directory(&self, sysfs_directory: &OsStr) -> Option<CString> {
        let relative = match self {
            Self::Umad(index) => format!("/dev/infiniband/umad{index}"),
            Self::Issm(index) => format!("/dev/infiniband/issm{index}"),
            Self::Sys(path) => format!("/class/{path}"),
            Self::Dev(path) => format!("/dev/infiniband/{path}"),
        };
        let mut buffer = sysfs_directory.as_bytes().to_vec();
        buffer.extend_from_slice(relative.as_bytes());
        CString::new(buffer).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths as written by libibumad, scripts and users; similar paths belong to the kernel.
    #[test]
    fn simulated_paths_are_recognised() {
        let sys = |path: &str| Some(SimulatedPath::Sys(path.to_owned()));
        let cases: [(&str, Option<SimulatedPath>); 17] = [
            ("/dev/infiniband/umad0", Some(SimulatedPath::Umad(0))),
            ("//dev//infiniband/./umad12", Some(SimulatedPath::Umad(12))),
            ("/dev/infiniband/issm3", Some(SimulatedPath::Issm(3))),
            (
                "/dev/infiniband/umad",
                Some(SimulatedPath::Dev("umad".to_owned())),
            ),
            (
                "/dev/infiniband/uverbs0",
                Some(SimulatedPath::Dev("uverbs0".to_owned())),
            ),
            ("/dev/infiniband/", Some(SimulatedPath::Dev(String::new()))),
            ("/dev/infinibandit", None),
            ("/sys/class/infiniband", sys("infiniband")),
            ("/sys/class/infiniband/", sys("infiniband")),
            (
                "/sys/class/infiniband_mad/abi_version",
                sys("infiniband_mad/abi_version"),
            ),
            (
                "/sys/class/infiniband/mlx5_0//ports/1/pkeys/0",
                sys("infiniband/mlx5_0/ports/1/pkeys/0"),
            ),
            ("/sys/class/scsi_host/", sys("scsi_host")),
            ("/sys/class/infiniband/../net", None),
            ("/sys/class/net/eth0", None),
            ("/sys/class", None),
            ("/etc/passwd", None),
            ("sys/class/infiniband", None),
        ];
        for (path, expected) in cases {
            assert_eq!(classify(path.as_bytes()), expected, "{path}");
        }
        let path = classify(b"/sys/class/infiniband/a")
            .and_then(|simulated| simulated.in_sysfs_directory("/t".as_ref()));
        assert_eq!(path.as_deref(), Some(c"/t/class/infiniband/a"));
    }
}
