//! `[replication]`: where copies of the state are, and how fast a silent master is noticed.

use core::time::Duration;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::value::Span;
use crate::replication::tcp::Settings;
use crate::replication::tls::Files;
use crate::replication::wire::FABRIC_MAX;
use crate::replication::{LogLimits, Pace};

/// The keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReplicationKeys {
    /// Where this node listens; empty for no replication.
    pub listen: String,
    /// The nodes.
    pub peers: Vec<String>,
    /// Name of the fabric, beside its subnet prefix.
    pub fabric: String,
    /// Certificates of the authority.
    pub ca: String,
    /// Certificate of this node.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// Name in the peers' certificates; empty for that in `peers`.
    pub server_name: String,
    /// Between two pings.
    pub heartbeat: Span,
    /// After which a master is silent.
    pub lease: Span,
    /// So long an answer waits for a standby.
    pub limit: Span,
    /// After which the own loop hangs.
    pub hang: Span,
}

impl Default for ReplicationKeys {
    fn default() -> Self {
        let pace = Pace::default();
        Self {
            listen: String::new(),
            peers: Vec::new(),
            fabric: String::new(),
            ca: String::new(),
            certificate: String::new(),
            key: String::new(),
            server_name: String::new(),
            heartbeat: Span(pace.heartbeat),
            lease: Span(pace.lease),
            limit: Span(pace.limit),
            hang: Span(Duration::from_secs(1)),
        }
    }
}

/// What replication is started with, but for who this node is; `None` for no replication. Names of files count from `beside`.
pub(super) fn settings(keys: &ReplicationKeys, prefix: u64, beside: &Path) -> Option<Settings> {
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    Some(Settings {
        fabric: format!("{prefix:016x} {}", keys.fabric),
        guid: 0,
        priority: 0,
        listen: named(&keys.listen)?,
        peers: keys.peers.clone(),
        server_name: named(&keys.server_name),
        files: Files {
            ca: beside.join(&keys.ca),
            certificate: beside.join(&keys.certificate),
            key: beside.join(&keys.key),
        },
        pace: Pace {
            heartbeat: keys.heartbeat.0,
            lease: keys.lease.0,
            limit: keys.limit.0,
            ..Pace::default()
        },
        hang: keys.hang.0,
        log: LogLimits::default(),
    })
}

/// What the keys say together that cannot be.
pub(super) fn check(keys: &ReplicationKeys, wrong: &mut dyn FnMut(&'static str, &str)) {
    let (heartbeat, lease, limit) = (keys.heartbeat.0, keys.lease.0, keys.limit.0);
    let (least, most) = (Duration::from_millis(10), Duration::from_mins(1));
    if !(least..=most).contains(&heartbeat) {
        wrong("replication.heartbeat", "must be from \"10ms\" to \"1m\"");
    }
    if lease < heartbeat.saturating_mul(2) || lease > most {
        wrong(
            "replication.lease",
            "must be twice replication.heartbeat or more, and at most \"1m\"",
        );
    }
    if limit < lease.saturating_mul(2).saturating_add(heartbeat) {
        wrong(
            "replication.limit",
            "must be more than twice replication.lease: only then a standby knows whether it has everything",
        );
    }
    if !(Duration::from_millis(100)..=most).contains(&keys.hang.0) {
        wrong("replication.hang", "must be from \"100ms\" to \"1m\"");
    }
    if keys.fabric.len() > FABRIC_MAX - 17 {
        wrong("replication.fabric", "is too long a name");
    }
    if keys.peers.iter().any(|peer| !has_port(peer)) {
        wrong(
            "replication.peers",
            "must be names or addresses with ports, such as [\"sm1:7471\", \"sm2:7471\"]",
        );
    }
    if keys.listen.is_empty() {
        if !keys.peers.is_empty() {
            wrong(
                "replication.peers",
                "is of no use without replication.listen: set that too",
            );
        }
        return;
    }
    if keys.listen.parse::<std::net::SocketAddr>().is_err() {
        wrong(
            "replication.listen",
            "must be an address and a port, such as \"0.0.0.0:7471\"",
        );
    }
    if keys.peers.is_empty() {
        wrong(
            "replication.peers",
            "names nobody: a standby must know where to look for the master",
        );
    }
    let files = [
        ("replication.ca", &keys.ca),
        ("replication.certificate", &keys.certificate),
        ("replication.key", &keys.key),
    ];
    for (key, file) in files {
        if file.is_empty() {
            wrong(
                key,
                "is needed with replication.listen: nothing is sent in the clear",
            );
        }
    }
}

fn has_port(peer: &str) -> bool {
    peer.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    fn told(text: &str) -> Vec<String> {
        let source = Source::parse(Path::new("f"), text.to_owned()).unwrap();
        let errors = source.settle(|_| {}).unwrap_err().to_string();
        let line = |l: &str| l.split_once("replication.").unwrap().1.to_owned();
        errors.lines().map(line).collect()
    }

    #[test]
    fn a_section_that_cannot_work_is_refused_with_all_reasons() {
        let errors = told(
            "[replication]\nlisten = \"here\"\npeers = [\"sm1\"]\nlease = \"150ms\"\nca = \"ca\"\n",
        );
        let keys: Vec<&str> = errors
            .iter()
            .map(|e| e.split(':').next().unwrap())
            .collect();
        for key in ["listen", "peers", "lease", "certificate", "key"] {
            assert!(keys.contains(&key), "{key}: {errors:?}");
        }
        assert_eq!(keys.len(), 5);
        let errors = told("[replication]\nlease = \"500ms\"\n");
        assert!(errors[0].starts_with("limit: must be more than twice replication.lease"));
        let errors = told("[replication]\npeers = [\"sm1:7471\"]\n");
        assert!(errors[0].starts_with("peers: is of no use without"));
    }

    #[test]
    fn nothing_is_replicated_by_default_and_files_count_from_the_configuration() {
        let of = |text: &str| {
            let source = Source::parse(Path::new("/etc/f.toml"), text.to_owned()).unwrap();
            source.settle(|_| {}).unwrap().replication
        };
        assert!(of("").is_none());
        let settings = of(
            "[replication]\nlisten = \"[::]:7471\"\npeers = [\"sm1:7471\", \"[fd00::2]:7471\"]\nca = \"ca.crt\"\n\
             certificate = \"sm1.crt\"\nkey = \"/keys/sm1.key\"\nfabric = \"hall 2\"\n",
        )
        .unwrap();
        assert_eq!(settings.fabric, "fe80000000000000 hall 2");
        assert_eq!(settings.files.ca, Path::new("/etc/ca.crt"));
        assert_eq!(settings.files.key, Path::new("/keys/sm1.key"));
        assert_eq!(settings.pace, Pace::default());
    }
}
