//! Checked settings, grouped by the component that uses them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use core::net::SocketAddr;
use core::time::Duration;

use ferrosm_core::config::SmConfig;
use ferrosm_mad::ids::{GidPrefix, Lmc, MKey, PortGuid, PortNum};
use ferrosm_opensm_compat::input::RoutingInputFiles;
use ferrosm_sa::admission::AdmissionLimits;

use super::error::ConfigError;
use super::log_level::parse_log_level;
use super::raw::{LogFormat, RawConfig, RoutingKeys};
use super::value::{EngineName, Hex64};

/// Effective settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Subnet manager.
    pub sm: SmConfig,
    /// SA limits.
    pub sa: AdmissionLimits,
    /// Local port.
    pub port: PortChoice,
    /// State directory, if any.
    pub state_dir: Option<PathBuf>,
    /// Dump directory, if any.
    pub dump_dir: Option<PathBuf>,
    /// Capture file, if any.
    pub capture: Option<PathBuf>,
    /// Replication, without the identity of this node; `None` for none.
    pub replication: Option<ferrosm_replication::ReplicationSettings>,
    /// Address of the metrics endpoint, if any.
    pub metrics: Option<SocketAddr>,
    /// Logging.
    pub log: LogSettings,
    /// Warnings: values in OpenSM input files that are probably mistakes.
    pub warnings: Vec<ConfigError>,
    /// The keys, to print and compare.
    pub raw: RawConfig,
}

/// Selection of the local port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortChoice {
    /// Name of the CA; `None` for any.
    pub ca: Option<String>,
    /// Port of the CA; `None` for any.
    pub number: Option<PortNum>,
    /// Port GUID; excludes the other fields.
    pub guid: Option<PortGuid>,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Line format.
    pub format: LogFormat,
    /// Filter of `tracing`: a level, or levels by module.
    pub level: String,
}

/// Checks combinations of keys. Errors are pairs of key and message.
pub(super) fn resolve(raw: RawConfig) -> Result<Settings, Vec<(&'static str, String)>> {
    let mut errors = Vec::new();
    let mut report = |key, message: &str| errors.push((key, message.to_owned()));

    let no_key = raw.subnet.m_key.0 == 0;
    if no_key && raw.subnet.m_key_protect_bits.get() > 0 {
        report(
            "subnet.m-key-protect-bits",
            "has no effect without subnet.m-key: set that key, or 0 here",
        );
    }
    if no_key && !raw.subnet.m_key_lease_period.0.is_zero() {
        report(
            "subnet.m-key-lease-period",
            "has no effect without subnet.m-key: set that key, or \"0s\" here",
        );
    }
    let lease = raw.subnet.m_key_lease_period.0;
    if lease.subsec_nanos() != 0 || lease.as_secs() > u64::from(u16::MAX) {
        report(
            "subnet.m-key-lease-period",
            "must be whole seconds, at most \"65535s\"",
        );
    }
    if raw.sweep.max_outstanding_per_node.get() > raw.sweep.max_outstanding.get() {
        report(
            "sweep.max-outstanding-per-node",
            "must not exceed sweep.max-outstanding",
        );
    }
    if !in_range(
        raw.sweep.smp_timeout.0,
        Duration::from_millis(1),
        Duration::from_mins(1),
    ) {
        report("sweep.smp-timeout", "must be from \"1ms\" to \"1m\"");
    }
    let interval = raw.sweep.interval.0;
    if !interval.is_zero()
        && !in_range(
            interval,
            Duration::from_millis(100),
            Duration::from_hours(24),
        )
    {
        report(
            "sweep.interval",
            "must be \"0s\" for no light sweeps, or from \"100ms\" to \"1day\"",
        );
    }
    if !in_range(
        raw.sm.poll_interval.0,
        Duration::from_millis(100),
        Duration::from_hours(1),
    ) {
        report("sm.poll-interval", "must be from \"100ms\" to \"1h\"");
    }
    if !in_range(
        raw.sm.peer_poll_interval.0,
        Duration::from_millis(50),
        Duration::from_hours(1),
    ) {
        report("sm.peer-poll-interval", "must be from \"50ms\" to \"1h\"");
    }
    let listen = &raw.metrics.listen;
    if !listen.is_empty() && listen.parse::<SocketAddr>().is_err() {
        report(
            "metrics.listen",
            "must be an address and a port, such as \"127.0.0.1:9793\", or empty for no metrics",
        );
    }
    if raw.routing.engines.iter().all(EngineName::is_no_fallback) {
        report(
            "routing.engines",
            "names no engine: at least one is required, such as [\"auto\"]",
        );
    }
    if raw.port.guid.0 != 0 && (!raw.port.ca.is_empty() || raw.port.number.get() != 0) {
        report("port.guid", "excludes port.ca and port.number");
    }
    if raw.port.number.get() != 0 && raw.port.ca.is_empty() && raw.port.guid.0 == 0 {
        report("port.number", "requires port.ca");
    }
    if parse_log_level(&raw.log.level).is_none() {
        report(
            "log.level",
            "must be error, warn, info, debug or trace, or a list such as \"info,ferrosm_core=debug\"",
        );
    }
    super::replication::check_keys(&raw.replication, &mut report);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Settings {
        sm: sm_config(&raw),
        sa: AdmissionLimits {
            total: raw.sa.max_waiting.to(),
            per_client: raw.sa.max_waiting_per_host.to(),
            rate: raw.sa.max_requests_per_host_s.to(),
            tables: raw.sa.max_waiting_tables.to(),
            table_bytes_in_flight: raw.sa.max_tables_mib.get() << 20,
        },
        port: PortChoice {
            ca: some_text(&raw.port.ca),
            number: (raw.port.number.get() != 0).then(|| PortNum(raw.port.number.to())),
            guid: (raw.port.guid.0 != 0).then_some(PortGuid(raw.port.guid.0)),
        },
        state_dir: some_text(&raw.files.state_dir).map(PathBuf::from),
        dump_dir: some_text(&raw.files.dump_dir).map(PathBuf::from),
        capture: some_text(&raw.files.capture).map(PathBuf::from),
        replication: None,
        metrics: raw.metrics.listen.parse().ok(),
        log: LogSettings {
            format: raw.log.format,
            level: raw.log.level.clone(),
        },
        warnings: Vec::new(),
        raw,
    })
}

/// Whether [`resolve`] checks a key against others of its section. If one of them is invalid, its
/// error may be wrong.
pub(super) fn depends_on_other_keys(key: &str) -> bool {
    const KEYS: [&str; 6] = [
        "subnet.m-key-protect-bits",
        "subnet.m-key-lease-period",
        "sweep.max-outstanding-per-node",
        "routing.engines",
        "port.guid",
        "port.number",
    ];
    KEYS.contains(&key) || key.starts_with("replication.")
}

/// OpenSM input files of a configuration; relative paths start at the directory `dir`.
pub(super) fn input_files(keys: &RoutingKeys, dir: &Path) -> RoutingInputFiles {
    let path = |name: &str| some_text(name).map(|name| dir.join(name));
    RoutingInputFiles {
        root_guid_file: path(&keys.root_guid_file),
        cn_guid_file: path(&keys.cn_guid_file),
        io_guid_file: path(&keys.io_guid_file),
        ids_guid_file: path(&keys.ids_guid_file),
        guid_routing_order_file: path(&keys.guid_routing_order_file),
        hop_weights_file: path(&keys.hop_weights_file),
        port_search_ordering_file: path(&keys.port_search_ordering_file),
        port_prof_ignore_file: path(&keys.port_prof_ignore_file),
        torus_config: path(&keys.torus_config),
        lfts_file: path(&keys.lfts_file),
        sl2vl_file: path(&keys.sl2vl_file),
        path_sl_file: path(&keys.path_sl_file),
    }
}

impl RawConfig {
    /// Whether the configuration names OpenSM input files.
    #[must_use]
    pub fn names_input_files(&self) -> bool {
        let files = [
            &self.partitions.file,
            &self.qos.policy_file,
            &self.routing.prefix_routes_file,
        ];
        files.iter().any(|file| !file.is_empty())
            || input_files(&self.routing, Path::new("")) != RoutingInputFiles::default()
    }
}

/// Keys that have no effect, or the opposite one, because of others.
pub(super) fn ineffective_keys(raw: &RawConfig) -> Vec<(&'static str, &'static str)> {
    let sm = &raw.sm;
    let mut found = Vec::new();
    if (1..sm.priority.get()).contains(&sm.master_priority.get()) {
        found.push((
            "sm.master-priority",
            "no effect, because it is lower than sm.priority",
        ));
    }
    if raw.sweep.interval.0.is_zero() {
        found.push((
            "sweep.interval",
            "light sweeps run every 5 minutes only at \"0s\": until then, changes whose trap was lost, a cut of the SM's own cable that the driver \
             does not report, and new SMs are not noticed",
        ));
    }
    if sm.peer_poll_interval.0 > sm.poll_interval.0 {
        found.push((
            "sm.peer-poll-interval",
            "SMs in sm.peers are polled less often than others, because it is longer than sm.poll-interval",
        ));
    }
    if raw.subnet.m_key.0 != 0 && raw.subnet.m_key_protect_bits.get() == 0 {
        found.push((
            "subnet.m-key",
            "protects nothing, because every host can read it by Get(PortInfo): set subnet.m-key-protect-bits to 2",
        ));
    }
    found
}

fn in_range(d: Duration, low: Duration, high: Duration) -> bool {
    (low..=high).contains(&d)
}

fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn guids(raw: &[Hex64]) -> BTreeSet<PortGuid> {
    raw.iter().map(|guid| PortGuid(guid.0)).collect()
}

fn sm_config(raw: &RawConfig) -> SmConfig {
    SmConfig {
        priority: raw.sm.priority.to(),
        sm_key: MKey::new(raw.sm.sm_key.0),
        subnet_prefix: GidPrefix(raw.subnet.prefix.0),
        m_key: MKey::new(raw.subnet.m_key.0),
        m_key_lease_period_s: u16::try_from(raw.subnet.m_key_lease_period.0.as_secs())
            .unwrap_or(u16::MAX),
        m_key_protect_bits: raw.subnet.m_key_protect_bits.to(),
        lmc: Lmc(raw.lids.lmc.to()),
        lmc_esp0: raw.lids.lmc_esp0,
        reassign_lids: raw.lids.reassign,
        client_reregister: raw.subnet.client_reregister,
        subnet_timeout: raw.subnet.timeout.to(),
        packet_life_time: raw.links.packet_life_time.to(),
        hoq_life: raw.links.hoq_life.to(),
        leaf_hoq_life: raw.links.leaf_hoq_life.to(),
        vl_stall_count: raw.links.vl_stall_count.to(),
        leaf_vl_stall_count: raw.links.leaf_vl_stall_count.to(),
        max_operational_vls: raw.links.max_operational_vls.to(),
        local_phy_errors: raw.links.local_phy_errors.to(),
        overrun_errors: raw.links.overrun_errors.to(),
        bounce_links: raw.links.bounce,
        hints: Arc::default(),
        partitions: Arc::default(),
        qos: None,
        consolidate_solicited_node: raw.sa.consolidate_solicited_node,
        prefix_routes: Arc::default(),
        routing_vls: match raw.routing.vls.to() {
            0 => ferrosm_routing::DATA_VLS_MAX,
            vls => vls,
        },
        routing_budget: raw.routing.budget.0,
        routing_drain: raw.routing.drain,
        engines: raw
            .routing
            .engines
            .iter()
            .map(|e| e.name().to_owned())
            .collect(),
        sweep_interval: raw.sweep.interval.0,
        smp_timeout: raw.sweep.smp_timeout.0,
        smp_retries: raw.sweep.smp_retries.to(),
        max_outstanding: raw.sweep.max_outstanding.to(),
        new_port_budget: raw.sweep.new_port_budget.to(),
        max_outstanding_per_node: raw.sweep.max_outstanding_per_node.to(),
        sm_poll_interval: raw.sm.poll_interval.0,
        sm_poll_retries: raw.sm.poll_retries.to(),
        peer_sms: Arc::new(guids(&raw.sm.peers)),
        peer_poll_interval: raw.sm.peer_poll_interval.0,
        peer_poll_retries: raw.sm.peer_poll_retries.to(),
        master_priority: raw.sm.master_priority.to(),
        handover_tries: raw.sm.handover_tries.to(),
        wait_polls: raw.sm.wait_polls.to(),
        allowed_sms: (!raw.sm.allowed_guids.is_empty())
            .then(|| Arc::new(guids(&raw.sm.allowed_guids))),
        refuse_managed_subnet: raw.sm.refuse_managed_subnet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;
    use std::path::Path;

    #[test]
    fn defaults_are_those_of_the_core() {
        assert_eq!(
            resolve(RawConfig::default()).unwrap().sm,
            SmConfig::default()
        );
    }

    #[test]
    fn combinations_of_keys_are_checked() {
        let text = "[subnet]\nm-key-protect-bits = 2\n[sweep]\nmax-outstanding = 4\nmax-outstanding-per-node = 8\n";
        let source = ConfigSource::parse(Path::new("f.toml"), text).unwrap();
        let text = source.resolve(|_| {}).unwrap_err().to_string();
        assert_eq!(
            text,
            "f.toml:2:22: subnet.m-key-protect-bits: has no effect without subnet.m-key: set that key, or 0 here\n\
             f.toml:5:28: sweep.max-outstanding-per-node: must not exceed sweep.max-outstanding"
        );
    }

    #[test]
    fn keys_without_effect_are_warned_about() {
        let text = "[sm]\npriority = 5\nmaster-priority = 3\npeer-poll-interval = \"20s\"\n\
            [subnet]\nm-key = \"0x1\"\n";
        let source = ConfigSource::parse(Path::new("f.toml"), text).unwrap();
        let warnings = source.resolve(|_| {}).unwrap().warnings;
        let positions: Vec<_> = warnings.iter().map(|w| w.at).collect();
        assert_eq!(positions, [Some((3, 19)), Some((4, 22)), Some((6, 9))]);
        assert_eq!(ineffective_keys(&RawConfig::default()), []);
    }

    /// Names are relative to the directory of the file; errors of keys and of input files are
    /// reported together.
    #[test]
    fn input_files_are_read_with_the_file() {
        let dir = crate::testing::TempDir::new("config-input-files");
        let path = dir.path().join("f.toml");
        let resolve = |text: &str| ConfigSource::parse(&path, text).unwrap().resolve(|_| {});
        std::fs::write(dir.path().join("roots"), "0x10\n").unwrap();
        let text = "[routing]\nvls = 4\nroot-guid-file = \"roots\"\n";
        let sm = resolve(text).unwrap().sm;
        assert_eq!(sm.hints.roots, [ferrosm_mad::ids::NodeGuid(0x10)]);
        assert_eq!(sm.routing_vls, 4);

        std::fs::write(dir.path().join("roots"), "0x10\nspine\n").unwrap();
        let text = "[routing]\nengines = [\"no_fallback\"]\nroot-guid-file = \"roots\"\n";
        let text = resolve(text).unwrap_err().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].contains("f.toml:2:11: routing.engines: names no engine"),
            "{text}"
        );
        assert!(
            lines[1].contains("roots:2:1: invalid GUID `spine`"),
            "{text}"
        );
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn flags_override_the_file() {
        let source = ConfigSource::parse(Path::new("f"), "[lids]\nlmc = 1\n").unwrap();
        assert_eq!(source.resolve(|_| {}).unwrap().sm.lmc, Lmc(1));
        let settings = source
            .resolve(|raw| raw.lids.lmc = super::super::value::Bounded::clamped(2))
            .unwrap();
        assert_eq!(settings.sm.lmc, Lmc(2));
    }
}
