//! Configuration from the environment that `ferrosm attach` sets. Read once.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::time::Duration;

use ferrosm_channel::SpinWait;

/// Server and host of this process.
#[derive(Debug)]
pub(crate) struct Config {
    /// `FERROSM_SIM_SOCKET`: the server's socket.
    pub(crate) socket: OsString,
    /// `FERROSM_SIM_NODES`: names or GUIDs of this host's CAs, one per line.
    pub(crate) nodes: Vec<String>,
    /// `FERROSM_SIM_SYSFS`: the sysfs directory, with `class/infiniband...` and `dev/infiniband`,
    /// for accesses that do not go to the server.
    pub(crate) sysfs: Option<OsString>,
    /// `FERROSM_ATTACH_SPIN_US`: time of polling for a reply before sleeping.
    pub(crate) spin: SpinWait,
}

/// Default time of polling: longer than most replies of a server that is awake, shorter than a
/// sleep and its wakeup.
const SPIN_US: u64 = 30;

/// The configuration; `None` in a process that is not attached.
pub(crate) fn config() -> Option<&'static Config> {
    static CONFIG: OnceLock<Option<Config>> = OnceLock::new();
    CONFIG
        .get_or_init(|| parse_environment(|name| std::env::var_os(name)))
        .as_ref()
}

fn parse_environment(variable: impl Fn(&str) -> Option<OsString>) -> Option<Config> {
    let text = |name: &str| {
        variable(name)
            .map(|value| value.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let present = |value: &OsString| !value.is_empty();
    let spin_us = text("FERROSM_ATTACH_SPIN_US")
        .trim()
        .parse()
        .unwrap_or(SPIN_US);
    Some(Config {
        socket: variable("FERROSM_SIM_SOCKET").filter(present)?,
        nodes: text("FERROSM_SIM_NODES")
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect(),
        sysfs: variable("FERROSM_SIM_SYSFS")
            .filter(present)
            .map(without_trailing_slash),
        spin: SpinWait::new(Duration::from_micros(spin_us)),
    })
}

fn without_trailing_slash(path: OsString) -> OsString {
    let bytes = path.as_bytes();
    OsStr::from_bytes(bytes.strip_suffix(b"/").unwrap_or(bytes)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a socket, no configuration; with one, defaults for the rest.
    #[test]
    fn environment_is_parsed_with_defaults() {
        assert!(parse_environment(|_| None).is_none());
        let config = parse_environment(|name| match name {
            "FERROSM_SIM_SOCKET" => Some("/run/x".into()),
            "FERROSM_SIM_NODES" => Some("h1 a\n\n0x12\n".into()),
            "FERROSM_SIM_SYSFS" => Some("/tmp/sys/".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(config.nodes, ["h1 a", "0x12"]);
        assert_eq!(config.sysfs.unwrap(), "/tmp/sys");
        assert_eq!(config.spin, SpinWait::new(Duration::from_micros(SPIN_US)));
    }
}
