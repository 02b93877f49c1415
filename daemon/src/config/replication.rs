//! Keys of `[replication]`.

use core::net::SocketAddr;
use std::path::{Path, PathBuf};

use ferrosm_replication::tls::TlsFiles;
use ferrosm_replication::{LogLimits, ReplicationSettings, Timing, etcd, tcp};

use super::settings::{ReplicationSection, Settings};

impl Settings {
    /// The settings of replication, without the identity of this node; `None` for no replication.
    #[must_use]
    pub fn replication(&self) -> Option<ReplicationSettings> {
        let section = &self.replication;
        let fabric = format!("{:016x} {}", self.sm.subnet_prefix.0, section.fabric);
        // A missing file name was reported.
        let located = |file: &Option<PathBuf>| {
            self.dir
                .join(file.as_deref().unwrap_or_else(|| Path::new("")))
        };
        let files = TlsFiles {
            ca: located(&section.ca),
            certificate: located(&section.certificate),
            key: located(&section.key),
        };
        if !section.etcd.is_empty() {
            return Some(ReplicationSettings::Etcd(etcd::EtcdSettings {
                endpoints: section.etcd.clone(),
                files: needs_certificates(&section.etcd).then_some(files),
                server_name: section.server_name.clone(),
                prefix: section.etcd_prefix.clone(),
                fabric,
                guid: 0,
                silent_after_s: u8::try_from(section.etcd_lease_s).unwrap_or(u8::MAX),
                reply_timeout: section.ack_timeout,
                driver_stall_timeout: section.main_loop_stall_timeout,
            }));
        }
        Some(ReplicationSettings::Tcp(tcp::TcpSettings {
            fabric,
            guid: 0,
            priority: 0,
            listen: section.listen?.to_string(),
            peers: section.peers.clone(),
            server_name: section.server_name.clone(),
            files,
            timing: Timing {
                heartbeat: section.heartbeat,
                lease: section.lease,
                ack_timeout: section.ack_timeout,
                ..Timing::default()
            },
            driver_stall_timeout: section.main_loop_stall_timeout,
            log: LogLimits::default(),
        }))
    }
}

/// Whether any member is reached over TLS.
fn needs_certificates(etcd: &[String]) -> bool {
    etcd.iter().any(|member| member.starts_with("https://"))
}

/// Checks combinations of keys.
pub(super) fn check_keys(section: &ReplicationSection, report: &mut dyn FnMut(&'static str, &str)) {
    if section.lease < section.heartbeat.saturating_mul(2) {
        report(
            "replication.lease",
            "must be at least twice replication.heartbeat",
        );
    }
    let min_ack_timeout = section.lease.saturating_mul(2);
    if section.ack_timeout < min_ack_timeout.saturating_add(section.heartbeat) {
        report(
            "replication.ack-timeout",
            "must be at least twice replication.lease plus replication.heartbeat, so that a standby knows whether its replica is complete",
        );
    }
    if !section.etcd.is_empty() {
        check_etcd(section, report);
    }
    if section.listen.is_none() {
        if !section.peers.is_empty() {
            report(
                "replication.peers",
                "has no effect without replication.listen",
            );
        }
        return;
    }
    if section.peers.is_empty() {
        report(
            "replication.peers",
            "must not be empty: a standby must know the addresses of the other nodes",
        );
    }
    check_files(
        section,
        "is required with replication.listen: connections use TLS",
        report,
    );
}

fn check_files(
    section: &ReplicationSection,
    reason: &str,
    report: &mut dyn FnMut(&'static str, &str),
) {
    let files = [
        ("replication.ca", &section.ca),
        ("replication.certificate", &section.certificate),
        ("replication.key", &section.key),
    ];
    for (key, file) in files {
        if file.is_none() {
            report(key, reason);
        }
    }
}

fn check_etcd(section: &ReplicationSection, report: &mut dyn FnMut(&'static str, &str)) {
    if !cfg!(feature = "etcd") {
        report(
            "replication.etcd",
            "is not supported: this ferrosm was built without the feature `etcd`",
        );
    }
    if section.listen.is_some() {
        report(
            "replication.etcd",
            "and replication.listen are mutually exclusive",
        );
    }
    if section.fabric.is_empty() {
        report(
            "replication.fabric",
            "is required with replication.etcd, equal on all nodes of a fabric: fabrics with the same name overwrite each other's records",
        );
    }
    if needs_certificates(&section.etcd) {
        check_files(
            section,
            "is required with https:// in replication.etcd",
            report,
        );
    }
}

/// Whether the address of a member of an etcd cluster is valid: TLS, or a loopback address.
pub(super) fn is_etcd_member(address: &str) -> bool {
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

/// Whether the text is a host name or address with a port.
pub(super) fn has_port(peer: &str) -> bool {
    peer.rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;

    fn errors(text: &str) -> String {
        let source = ConfigSource::parse(Path::new("f"), text);
        let settings = source.and_then(|source| source.resolve(|_| {}));
        settings.unwrap_err().to_string()
    }

    #[test]
    fn invalid_section_is_rejected_with_all_reasons() {
        let found =
            errors("[replication]\nlisten = \"here\"\npeers = [\"sm1\"]\nlease = \"5ms\"\n");
        for key in ["listen", "peers", "lease"] {
            assert!(found.contains(&format!("replication.{key}: ")), "{found}");
        }
        assert_eq!(found.lines().count(), 3, "{found}");
        let found = errors("[replication]\nlisten = \"[::]:1\"\nlease = \"150ms\"\nca = \"ca\"\n");
        for key in ["peers", "lease", "certificate", "key"] {
            assert!(found.contains(&format!("replication.{key}: ")), "{found}");
        }
        assert_eq!(found.lines().count(), 4, "{found}");
        let found = errors("[replication]\nlease = \"500ms\"\n");
        assert!(found.contains("ack-timeout: must be at least"), "{found}");
        let found = errors("[replication]\npeers = [\"sm1:7471\"]\n");
        assert!(found.contains("peers: has no effect without"), "{found}");
    }

    /// The error names the new key, at the old one.
    #[test]
    fn old_names_of_keys_are_rejected_with_the_new_ones() {
        let found = errors("[replication]\nlimit = \"1s\"\nhang = \"1s\"\n");
        let lines: Vec<&str> = found.lines().collect();
        assert!(lines[0].starts_with("f:2:1: replication.limit"), "{found}");
        assert!(lines[0].contains("`ack-timeout`"), "{found}");
        assert!(lines[1].starts_with("f:3:1: replication.hang"), "{found}");
        assert!(lines[1].contains("`main-loop-stall-timeout`"), "{found}");
    }

    #[test]
    fn default_is_no_replication_and_paths_are_relative_to_the_file() {
        let resolve_text = |text: &str| {
            let source = ConfigSource::parse(Path::new("/etc/f.toml"), text).unwrap();
            source.resolve(|_| {}).unwrap().replication()
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
        let has = |found: &str, texts: &[&str]| {
            for text in texts {
                assert!(found.contains(text), "{text}: {found}");
            }
        };
        let found = errors(
            "[replication]\netcd = [\"http://etcd1:2379\", \"https://etcd2\"]\netcd-lease = \"1500ms\"\netcd-prefix = \"x\"\n",
        );
        assert_eq!(found.matches("only for loopback addresses").count(), 2);
        has(&found, &["whole seconds", "begins with a slash"]);
        let found = errors(
            "[replication]\netcd = [\"https://etcd1:2379\"]\nlisten = \"[::]:7471\"\npeers = [\"sm1:7471\"]\nca = \"ca\"\n\
             certificate = \"c\"\n",
        );
        has(
            &found,
            &[
                "mutually exclusive",
                "key: is required with",
                "fabric: is required with",
            ],
        );
        let has_no_etcd = found.contains("without the feature");
        assert_eq!(has_no_etcd, !cfg!(feature = "etcd"));
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
                .all(|address| is_etcd_member(&format!("http://{address}")))
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
                .any(|address| is_etcd_member(&format!("http://{address}")))
        );
        assert!(is_etcd_member("https://192.0.2.1:2379"));
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn only_remote_etcd_needs_certificates() {
        let resolve_text = |text: &str| {
            let source = ConfigSource::parse(Path::new("/etc/f.toml"), text).unwrap();
            match source.resolve(|_| {}).unwrap().replication() {
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
