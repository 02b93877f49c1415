//! Keys of `[replication]`.

use core::time::Duration;
use std::net::SocketAddr;
use std::path::Path;

use ferrosm_replication::tls::TlsFiles;
use ferrosm_replication::{FABRIC_NAME_MAX, LogLimits, ReplicationSettings, Timing, etcd, tcp};
use serde::{Deserialize, Serialize};

use super::value::DurationValue;

/// `[replication]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReplicationKeys {
    /// Address on which this node listens; empty for no replication over TCP.
    pub listen: String,
    /// Addresses of all nodes.
    pub peers: Vec<String>,
    /// Members of an etcd cluster, in place of `listen` and `peers`.
    pub etcd: Vec<String>,
    /// Prefix of the keys in etcd.
    pub etcd_prefix: String,
    /// Lifetime of the lease in etcd; whole seconds.
    pub etcd_lease: DurationValue,
    /// Name of the fabric, in addition to its subnet prefix; required with `etcd`.
    pub fabric: String,
    /// CA certificate file.
    pub ca: String,
    /// Certificate file of this node.
    pub certificate: String,
    /// Private key file of this node.
    pub key: String,
    /// Name in the peers' certificates; empty for the names in `peers`.
    pub server_name: String,
    /// Heartbeat interval.
    pub heartbeat: DurationValue,
    /// Time without a heartbeat after which the master counts as silent.
    pub lease: DurationValue,
    /// Longest time that a reply waits for a standby.
    pub limit: DurationValue,
    /// Stall of the main loop after which heartbeats stop.
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
            limit: DurationValue(timing.ack_timeout),
            hang: DurationValue(Duration::from_secs(1)),
        }
    }
}

/// Settings of replication without the identity of this node; `None` for no replication. File names
/// are relative to `dir`.
pub(super) fn settings(
    keys: &ReplicationKeys,
    prefix: u64,
    dir: &Path,
) -> Option<ReplicationSettings> {
    let non_empty = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let fabric = format!("{prefix:016x} {}", keys.fabric);
    let server_name = non_empty(&keys.server_name);
    let files = TlsFiles {
        ca: dir.join(&keys.ca),
        certificate: dir.join(&keys.certificate),
        key: dir.join(&keys.key),
    };
    if !keys.etcd.is_empty() {
        return Some(ReplicationSettings::Etcd(etcd::EtcdSettings {
            endpoints: keys.etcd.clone(),
            files: needs_certificates(&keys.etcd).then_some(files),
            server_name,
            prefix: keys.etcd_prefix.clone(),
            fabric,
            guid: 0,
            silent_after_s: u8::try_from(keys.etcd_lease.0.as_secs()).unwrap_or(u8::MAX),
            reply_timeout: keys.limit.0,
            driver_stall_timeout: keys.hang.0,
        }));
    }
    Some(ReplicationSettings::Tcp(tcp::TcpSettings {
        fabric,
        guid: 0,
        priority: 0,
        listen: non_empty(&keys.listen)?,
        peers: keys.peers.clone(),
        server_name,
        files,
        timing: Timing {
            heartbeat: keys.heartbeat.0,
            lease: keys.lease.0,
            ack_timeout: keys.limit.0,
            ..Timing::default()
        },
        driver_stall_timeout: keys.hang.0,
        log: LogLimits::default(),
    }))
}

/// Whether any member is reached over TLS.
fn needs_certificates(etcd: &[String]) -> bool {
    etcd.iter().any(|member| member.starts_with("https://"))
}

/// Checks combinations of keys.
pub(super) fn check_keys(keys: &ReplicationKeys, report: &mut dyn FnMut(&'static str, &str)) {
    let (heartbeat, lease, limit) = (keys.heartbeat.0, keys.lease.0, keys.limit.0);
    let (min, max) = (Duration::from_millis(10), Duration::from_mins(1));
    if !(min..=max).contains(&heartbeat) {
        report("replication.heartbeat", "must be from \"10ms\" to \"1m\"");
    }
    if lease < heartbeat.saturating_mul(2) || lease > max {
        report(
            "replication.lease",
            "must be at least twice replication.heartbeat, and at most \"1m\"",
        );
    }
    if limit > max {
        report(
            "replication.limit",
            "must be at most \"1m\": hosts wait this long for a reply",
        );
    }
    if limit < lease.saturating_mul(2).saturating_add(heartbeat) {
        report(
            "replication.limit",
            "must be at least twice replication.lease plus replication.heartbeat, so that a standby knows whether its replica is complete",
        );
    }
    if !(Duration::from_millis(100)..=max).contains(&keys.hang.0) {
        report("replication.hang", "must be from \"100ms\" to \"1m\"");
    }
    // The name is preceded by the subnet prefix and a blank.
    let name_max = FABRIC_NAME_MAX - 17;
    if keys.fabric.len() > name_max {
        report(
            "replication.fabric",
            &format!("must have at most {name_max} bytes"),
        );
    }
    if keys.peers.iter().any(|peer| !has_port(peer)) {
        report(
            "replication.peers",
            "must be host names or addresses with ports, such as [\"sm1:7471\", \"sm2:7471\"]",
        );
    }
    check_etcd(keys, report);
    if keys.listen.is_empty() {
        if !keys.peers.is_empty() {
            report(
                "replication.peers",
                "has no effect without replication.listen",
            );
        }
        return;
    }
    if keys.listen.parse::<SocketAddr>().is_err() {
        report(
            "replication.listen",
            "must be an address and a port, such as \"0.0.0.0:7471\"",
        );
    }
    if keys.peers.is_empty() {
        report(
            "replication.peers",
            "must not be empty: a standby must know the addresses of the other nodes",
        );
    }
    check_files(
        keys,
        "is required with replication.listen: connections use TLS",
        report,
    );
}

fn check_files(keys: &ReplicationKeys, reason: &str, report: &mut dyn FnMut(&'static str, &str)) {
    let files = [
        ("replication.ca", &keys.ca),
        ("replication.certificate", &keys.certificate),
        ("replication.key", &keys.key),
    ];
    for (key, file) in files {
        if file.is_empty() {
            report(key, reason);
        }
    }
}

fn check_etcd(keys: &ReplicationKeys, report: &mut dyn FnMut(&'static str, &str)) {
    let lease = keys.etcd_lease.0;
    if !(1..=60).contains(&lease.as_secs()) || lease.subsec_nanos() != 0 {
        report(
            "replication.etcd-lease",
            "must be whole seconds from \"1s\" to \"1m\"",
        );
    }
    if !keys.etcd_prefix.starts_with('/') || keys.etcd_prefix.len() > 200 {
        report(
            "replication.etcd-prefix",
            "must begin with a slash and have at most 200 bytes",
        );
    }
    if keys.etcd.is_empty() {
        return;
    }
    if !cfg!(feature = "etcd") {
        report(
            "replication.etcd",
            "is not supported: this ferrosm was built without the feature `etcd`",
        );
    }
    if !keys.listen.is_empty() {
        report(
            "replication.etcd",
            "and replication.listen are mutually exclusive",
        );
    }
    if keys.fabric.is_empty() {
        report(
            "replication.fabric",
            "is required with replication.etcd, equal on all nodes of a fabric: fabrics with the same name overwrite each other's records",
        );
    }
    if !keys.etcd.iter().all(|member| is_valid_member(member)) {
        report(
            "replication.etcd",
            "must be addresses such as [\"https://etcd1:2379\"]; http:// is allowed only for loopback addresses, such as \"http://127.0.0.1:2379\", because records hold keys",
        );
    }
    if needs_certificates(&keys.etcd) {
        check_files(
            keys,
            "is required with https:// in replication.etcd",
            report,
        );
    }
}

/// Whether the address is valid: TLS, or a loopback address.
fn is_valid_member(address: &str) -> bool {
    let is_loopback = |address: &str| {
        address.starts_with("localhost:")
            || address
                .parse::<SocketAddr>()
                .is_ok_and(|at| at.ip().is_loopback())
    };
    match (
        address.strip_prefix("https://"),
        address.strip_prefix("http://"),
    ) {
        (Some(address), _) => has_port(address),
        (None, Some(address)) => has_port(address) && is_loopback(address),
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
    use crate::config::ConfigSource;

    fn error_lines(text: &str) -> Vec<String> {
        let source = ConfigSource::parse(Path::new("f"), text).unwrap();
        let errors = source.resolve(|_| {}).unwrap_err().to_string();
        let line = |l: &str| l.split_once("replication.").unwrap().1.to_owned();
        errors.lines().map(line).collect()
    }

    #[test]
    fn invalid_section_is_rejected_with_all_reasons() {
        let errors = error_lines(
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
        let errors = error_lines("[replication]\nlease = \"500ms\"\n");
        assert!(errors[0].starts_with("limit: must be at least twice replication.lease"));
        let errors = error_lines("[replication]\npeers = [\"sm1:7471\"]\n");
        assert!(errors[0].starts_with("peers: has no effect without"));
    }

    #[test]
    fn default_is_no_replication_and_paths_are_relative_to_the_file() {
        let resolve_text = |text: &str| {
            let source = ConfigSource::parse(Path::new("/etc/f.toml"), text).unwrap();
            source.resolve(|_| {}).unwrap().replication
        };
        assert!(resolve_text("").is_none());
        let Some(ReplicationSettings::Tcp(settings)) = resolve_text(
            "[replication]\nlisten = \"[::]:7471\"\npeers = [\"sm1:7471\", \"[fd00::2]:7471\"]\nca = \"ca.crt\"\n\
             certificate = \"sm1.crt\"\nkey = \"/keys/sm1.key\"\nfabric = \"hall 2\"\n",
        ) else {
            panic!("not TCP");
        };
        assert_eq!(settings.fabric, "fe80000000000000 hall 2");
        assert_eq!(settings.files.ca, Path::new("/etc/ca.crt"));
        assert_eq!(settings.files.key, Path::new("/keys/sm1.key"));
        assert_eq!(settings.timing, Timing::default());
    }

    #[test]
    fn etcd_without_tls_or_with_tcp_is_rejected() {
        let errors = error_lines(
            "[replication]\netcd = [\"http://etcd1:2379\", \"https://etcd2\"]\nlisten = \"[::]:7471\"\npeers = [\"sm1:7471\"]\n\
             ca = \"ca\"\ncertificate = \"c\"\netcd-lease = \"1500ms\"\netcd-prefix = \"x\"\n",
        );
        let has_error = |text: &str| errors.iter().any(|e| e.contains(text));
        for text in [
            "mutually exclusive",
            "only for loopback addresses",
            "whole seconds",
            "begin with a slash",
            "key: is required with",
            "fabric: is required with",
        ] {
            assert!(has_error(text), "{text}: {errors:?}");
        }
        assert_eq!(has_error("without the feature"), !cfg!(feature = "etcd"));
    }

    #[test]
    fn only_loopback_members_need_no_tls() {
        let loopback = [
            "127.0.0.1:2379",
            "127.9.8.7:2379",
            "[::1]:2379",
            "localhost:2379",
        ];
        assert!(
            loopback
                .iter()
                .all(|address| is_valid_member(&format!("http://{address}")))
        );
        let remote = [
            "192.0.2.1:2379",
            "127.0.0.1",
            "127.0.0.1:0",
            "127.0.0.1.example:2379",
            "localhost.example:2379",
            "[::]:2379",
        ];
        assert!(
            !remote
                .iter()
                .any(|address| is_valid_member(&format!("http://{address}")))
        );
        assert!(is_valid_member("https://192.0.2.1:2379"));
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn only_remote_etcd_needs_certificates() {
        let resolve_text = |text: &str| {
            let source = ConfigSource::parse(Path::new("/etc/f.toml"), text).unwrap();
            match source.resolve(|_| {}).unwrap().replication {
                Some(ReplicationSettings::Etcd(settings)) => settings,
                other => panic!("{other:?}"),
            }
        };
        let settings = resolve_text(
            "[replication]\netcd = [\"http://127.0.0.1:2379\"]\netcd-lease = \"3s\"\nfabric = \"a\"\n",
        );
        assert_eq!((settings.files, settings.silent_after_s), (None, 3));
        let settings = resolve_text(
            "[replication]\netcd = [\"https://etcd1:2379\"]\nfabric = \"hall-2\"\nca = \"ca\"\ncertificate = \"c\"\nkey = \"k\"\n",
        );
        assert_eq!(settings.files.unwrap().ca, Path::new("/etc/ca"));
        assert_eq!(settings.fabric, "fe80000000000000 hall-2");
    }
}
