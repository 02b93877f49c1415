//! `[replication]`: where copies of the state are, and how fast a silent master is noticed.

use core::time::Duration;
use std::net::SocketAddr;
use std::path::Path;

use ferrosm_replication::tls::TlsFiles;
use ferrosm_replication::{FABRIC_NAME_MAX, LogLimits, ReplicationSettings, Timing, etcd, tcp};
use serde::{Deserialize, Serialize};

use super::value::DurationValue;

/// The keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReplicationKeys {
    /// Where this node listens; empty for no replication.
    pub listen: String,
    /// The nodes.
    pub peers: Vec<String>,
    /// Members of an etcd cluster, in place of `listen` and `peers`.
    pub etcd: Vec<String>,
    /// Where the keys in etcd are.
    pub etcd_prefix: String,
    /// After which a lease in etcd is old; whole seconds.
    pub etcd_lease: DurationValue,
    /// Name of the fabric, dir its subnet prefix; not empty with `etcd`.
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
    pub heartbeat: DurationValue,
    /// After which a master is silent.
    pub lease: DurationValue,
    /// So long an answer waits for a standby.
    pub limit: DurationValue,
    /// After which the own loop hangs.
    pub hang: DurationValue,
}

impl Default for ReplicationKeys {
    fn default() -> Self {
        let timing = Timing::default();
        Self {
            listen: String::new(),
            peers: Vec::new(),
            etcd: Vec::new(),
            etcd_prefix: "/ferrosm".to_owned(),
            etcd_lease: DurationValue(Duration::from_secs(1)),
            fabric: String::new(),
            ca: String::new(),
            certificate: String::new(),
            key: String::new(),
            server_name: String::new(),
            heartbeat: DurationValue(timing.heartbeat),
            lease: DurationValue(timing.lease),
            limit: DurationValue(timing.limit),
            hang: DurationValue(Duration::from_secs(1)),
        }
    }
}

/// What replication is started with, but for who this node is; `None` for no replication. Names of files count from `dir`.
pub(super) fn settings(
    keys: &ReplicationKeys,
    prefix: u64,
    dir: &Path,
) -> Option<ReplicationSettings> {
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let fabric = format!("{prefix:016x} {}", keys.fabric);
    let server_name = named(&keys.server_name);
    let files = TlsFiles {
        ca: dir.join(&keys.ca),
        certificate: dir.join(&keys.certificate),
        key: dir.join(&keys.key),
    };
    if !keys.etcd.is_empty() {
        return Some(ReplicationSettings::Etcd(etcd::EtcdSettings {
            endpoints: keys.etcd.clone(),
            files: needs_files(&keys.etcd).then_some(files),
            server_name,
            prefix: keys.etcd_prefix.clone(),
            fabric,
            guid: 0,
            silence_s: u8::try_from(keys.etcd_lease.0.as_secs()).unwrap_or(u8::MAX),
            limit: keys.limit.0,
            hang: keys.hang.0,
        }));
    }
    Some(ReplicationSettings::Tcp(tcp::TcpSettings {
        fabric,
        guid: 0,
        priority: 0,
        listen: named(&keys.listen)?,
        peers: keys.peers.clone(),
        server_name,
        files,
        timing: Timing {
            heartbeat: keys.heartbeat.0,
            lease: keys.lease.0,
            limit: keys.limit.0,
            ..Timing::default()
        },
        hang: keys.hang.0,
        log: LogLimits::default(),
    }))
}

/// Whether any of these is asked over TLS.
fn needs_files(etcd: &[String]) -> bool {
    etcd.iter().any(|member| member.starts_with("https://"))
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
    if limit > most {
        wrong(
            "replication.limit",
            "must be at most \"1m\": so long hosts wait",
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
    if keys.fabric.len() > FABRIC_NAME_MAX - 17 {
        wrong("replication.fabric", "is too long a name");
    }
    if keys.peers.iter().any(|peer| !has_port(peer)) {
        wrong(
            "replication.peers",
            "must be names or addresses with ports, such as [\"sm1:7471\", \"sm2:7471\"]",
        );
    }
    check_etcd(keys, wrong);
    if keys.listen.is_empty() {
        if !keys.peers.is_empty() {
            wrong(
                "replication.peers",
                "is of no use without replication.listen: set that too",
            );
        }
        return;
    }
    if keys.listen.parse::<SocketAddr>().is_err() {
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
    check_files(
        keys,
        "is needed with replication.listen: nothing is sent in the clear",
        wrong,
    );
}

fn check_files(keys: &ReplicationKeys, why: &str, wrong: &mut dyn FnMut(&'static str, &str)) {
    let files = [
        ("replication.ca", &keys.ca),
        ("replication.certificate", &keys.certificate),
        ("replication.key", &keys.key),
    ];
    for (key, file) in files {
        if file.is_empty() {
            wrong(key, why);
        }
    }
}

fn check_etcd(keys: &ReplicationKeys, wrong: &mut dyn FnMut(&'static str, &str)) {
    let lease = keys.etcd_lease.0;
    if !(1..=60).contains(&lease.as_secs()) || lease.subsec_nanos() != 0 {
        wrong(
            "replication.etcd-lease",
            "must be whole seconds from \"1s\" to \"1m\"",
        );
    }
    if !keys.etcd_prefix.starts_with('/') || keys.etcd_prefix.len() > 200 {
        wrong(
            "replication.etcd-prefix",
            "must begin with a slash, and not be too long",
        );
    }
    if keys.etcd.is_empty() {
        return;
    }
    if !cfg!(feature = "etcd") {
        wrong(
            "replication.etcd",
            "cannot be used: this ferrosm was built without the feature `etcd`",
        );
    }
    if !keys.listen.is_empty() {
        wrong(
            "replication.etcd",
            "and replication.listen are two ways: choose one",
        );
    }
    if keys.fabric.is_empty() {
        wrong(
            "replication.fabric",
            "is needed with replication.etcd: fabrics of one name on one etcd destroy each other's records; the same on all nodes of a fabric",
        );
    }
    if !keys.etcd.iter().all(|member| is_member(member)) {
        wrong(
            "replication.etcd",
            "must be addresses such as [\"https://etcd1:2379\"]; http:// only on this machine, as \"http://127.0.0.1:2379\": records hold keys",
        );
    }
    if needs_files(&keys.etcd) {
        check_files(keys, "is needed with https:// in replication.etcd", wrong);
    }
}

/// Nothing leaves the machine in the clear.
fn is_member(place: &str) -> bool {
    let here = |place: &str| {
        place.starts_with("localhost:")
            || place
                .parse::<SocketAddr>()
                .is_ok_and(|at| at.ip().is_loopback())
    };
    match (
        place.strip_prefix("https://"),
        place.strip_prefix("http://"),
    ) {
        (Some(place), _) => has_port(place),
        (None, Some(place)) => has_port(place) && here(place),
        (None, None) => false,
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
        let source = Source::only(Path::new("f"), text.to_owned()).unwrap();
        let errors = source.resolve(|_| {}).unwrap_err().to_string();
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
            let source = Source::only(Path::new("/etc/f.toml"), text.to_owned()).unwrap();
            source.resolve(|_| {}).unwrap().replication
        };
        assert!(of("").is_none());
        let Some(ReplicationSettings::Tcp(settings)) = of(
            "[replication]\nlisten = \"[::]:7471\"\npeers = [\"sm1:7471\", \"[fd00::2]:7471\"]\nca = \"ca.crt\"\n\
             certificate = \"sm1.crt\"\nkey = \"/keys/sm1.key\"\nfabric = \"hall 2\"\n",
        ) else {
            panic!("it is TCP");
        };
        assert_eq!(settings.fabric, "fe80000000000000 hall 2");
        assert_eq!(settings.files.ca, Path::new("/etc/ca.crt"));
        assert_eq!(settings.files.key, Path::new("/keys/sm1.key"));
        assert_eq!(settings.timing, Timing::default());
    }

    #[test]
    fn etcd_is_refused_in_the_clear_or_beside_the_other_way() {
        let errors = told(
            "[replication]\netcd = [\"http://etcd1:2379\", \"https://etcd2\"]\nlisten = \"[::]:7471\"\npeers = [\"sm1:7471\"]\n\
             ca = \"ca\"\ncertificate = \"c\"\netcd-lease = \"1500ms\"\netcd-prefix = \"x\"\n",
        );
        let has = |words: &str| errors.iter().any(|e| e.contains(words));
        for words in [
            "two ways",
            "only on this machine",
            "whole seconds",
            "begin with a slash",
            "key: is needed with",
            "fabric: is needed with",
        ] {
            assert!(has(words), "{words}: {errors:?}");
        }
        assert_eq!(has("without the feature"), !cfg!(feature = "etcd"));
    }

    #[test]
    fn only_this_machine_is_reached_in_the_clear() {
        let here = [
            "127.0.0.1:2379",
            "127.9.8.7:2379",
            "[::1]:2379",
            "localhost:2379",
        ];
        assert!(
            here.iter()
                .all(|place| is_member(&format!("http://{place}")))
        );
        let elsewhere = [
            "192.0.2.1:2379",
            "127.0.0.1",
            "127.0.0.1:0",
            "127.0.0.1.example:2379",
            "localhost.example:2379",
            "[::]:2379",
        ];
        assert!(
            !elsewhere
                .iter()
                .any(|place| is_member(&format!("http://{place}")))
        );
        assert!(is_member("https://192.0.2.1:2379"));
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn etcd_on_this_machine_needs_no_certificates_and_another_does() {
        let of = |text: &str| {
            let source = Source::only(Path::new("/etc/f.toml"), text.to_owned()).unwrap();
            match source.resolve(|_| {}).unwrap().replication {
                Some(ReplicationSettings::Etcd(settings)) => settings,
                other => panic!("{other:?}"),
            }
        };
        let settings = of(
            "[replication]\netcd = [\"http://127.0.0.1:2379\"]\netcd-lease = \"3s\"\nfabric = \"a\"\n",
        );
        assert_eq!((settings.files, settings.silence_s), (None, 3));
        let settings = of(
            "[[fabric]]\nname = \"hall-2\"\n[fabric.replication]\netcd = [\"https://etcd1:2379\"]\nca = \"ca\"\ncertificate = \"c\"\nkey = \"k\"\n",
        );
        assert_eq!(settings.files.unwrap().ca, Path::new("/etc/ca"));
        assert_eq!(
            settings.fabric, "fe80000000000000 hall-2",
            "that of [[fabric]]"
        );
    }
}
