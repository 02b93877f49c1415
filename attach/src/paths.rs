//! Which paths are ours, and where they lead instead. Pure.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;

/// A path that is not the kernel's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ours {
    /// `/dev/infiniband/umadN`.
    Umad(u32),
    /// `/dev/infiniband/issmN`.
    Issm(u32),
    /// Below `/sys/class`: the path from there.
    Sys(String),
    /// `/dev/infiniband` itself, or another name in it: the path from there, perhaps empty.
    Dev(String),
}

/// Classes of `/sys/class` that a program with simulated devices must not see of the real machine. What storage it has by
/// `scsi_host` it has not by these devices.
const CLASSES: [&str; 6] = [
    "infiniband",
    "infiniband_mad",
    "infiniband_verbs",
    "infiniband_cm",
    "infiniband_srp",
    "scsi_host",
];

/// Whether the path is ours. Only absolute paths are; repeated slashes and single dots do not matter.
pub(crate) fn ours(path: &[u8]) -> Option<Ours> {
    // First what nearly all paths fail.
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
            let mut all = vec![class];
            all.extend(names);
            climbs(&all).map(Ours::Sys)
        }
        ("dev", "infiniband") => {
            let rest: Vec<&str> = names.collect();
            if let [name] = rest[..] {
                if let Some(index) = numbered(name, "umad") {
                    return Some(Ours::Umad(index));
                }
                if let Some(index) = numbered(name, "issm") {
                    return Some(Ours::Issm(index));
                }
            }
            climbs(&rest).map(Ours::Dev)
        }
        _ => None,
    }
}

/// Joined again; `None` if the path leaves where it began.
fn climbs(names: &[&str]) -> Option<String> {
    (!names.contains(&"..")).then(|| names.join("/"))
}

fn numbered(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

impl Ours {
    /// Where this is in the skeleton directory.
    pub(crate) fn in_skeleton(&self, skeleton: &OsStr) -> Option<CString> {
        let below = match self {
            Self::Umad(index) => format!("/dev/infiniband/umad{index}"),
            Self::Issm(index) => format!("/dev/infiniband/issm{index}"),
            Self::Sys(path) => format!("/class/{path}"),
            Self::Dev(path) => format!("/dev/infiniband/{path}"),
        };
        let mut whole = skeleton.as_bytes().to_vec();
        whole.extend_from_slice(below.as_bytes());
        CString::new(whole).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths that libibumad, shell scripts and people write; near misses stay the kernel's.
    #[test]
    fn our_paths_are_known() {
        let sys = |path: &str| Some(Ours::Sys(path.to_owned()));
        let cases: [(&str, Option<Ours>); 17] = [
            ("/dev/infiniband/umad0", Some(Ours::Umad(0))),
            ("//dev//infiniband/./umad12", Some(Ours::Umad(12))),
            ("/dev/infiniband/issm3", Some(Ours::Issm(3))),
            ("/dev/infiniband/umad", Some(Ours::Dev("umad".to_owned()))),
            (
                "/dev/infiniband/uverbs0",
                Some(Ours::Dev("uverbs0".to_owned())),
            ),
            ("/dev/infiniband/", Some(Ours::Dev(String::new()))),
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
            assert_eq!(ours(path.as_bytes()), expected, "{path}");
        }
        let at = ours(b"/sys/class/infiniband/a").and_then(|ours| ours.in_skeleton("/t".as_ref()));
        assert_eq!(at.as_deref(), Some(c"/t/class/infiniband/a"));
    }
}
