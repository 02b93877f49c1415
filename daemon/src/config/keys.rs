//! All keys of the configuration file, one row each: the name, when a change takes effect, the
//! setting, and the format of its value.
//!
//! A new key needs a row here and its default with a comment in `etc/ferrosm.toml`. Reading,
//! printing, suggestions and reloads follow from the row. The default is that of the setting.

use core::time::Duration;

use ferrosm_api::access::ClientRole;
use ferrosm_api::event::EventSeverity;
use ferrosm_core::config::DrainPolicy;
use ferrosm_core::config::partitions::Enforcement;
use ferrosm_replication::FABRIC_NAME_MAX;
use toml::de::DeValue;
use toml::{Spanned, Value};

use super::log_level::parse_log_level;
use super::notify::{SYSLOG, URL};
use super::replication::{has_port, is_etcd_member};
use super::settings::{
    ApiClientEntry, InvariantEntry, LogFormat, NotifyEntry, PartitionEntry, Settings,
};
use super::value::{
    DataVls, Engines, Flag, Format, Hex, Keyword, List, Mib, OptionalPortNum, PKey, PortGuids,
    Seconds, Secret, SocketAddress, SpannedError, TEXT, Text, Time, Whole,
};

/// A key, and the setting of `S` that it sets.
pub(super) struct Key<S> {
    /// Section and name: `sm.priority`.
    pub(super) name: &'static str,
    /// When a change takes effect.
    pub(super) takes_effect: TakesEffect,
    /// Reads the value into the settings.
    pub(super) read: fn(&mut S, &Spanned<DeValue<'_>>) -> Result<(), Vec<SpannedError>>,
    /// The value of the setting, in TOML.
    pub(super) print: fn(&S) -> Value,
    /// Copies the setting to other settings.
    pub(super) copy: fn(from: &S, to: &mut S),
}

/// When the change of a key takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TakesEffect {
    /// At a reload: at once or with the next sweep.
    Reload,
    /// At a restart.
    Restart,
    /// At a restart with replication, otherwise at a reload.
    RestartIfReplicated,
}

impl<S> Key<S> {
    /// The section of the key, and its name in the section.
    pub(super) fn section_and_name(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').unwrap_or(("", self.name))
    }
}

/// Keys whose values are never shown.
pub(super) fn is_secret(key: &str) -> bool {
    ["sm.sm-key", "subnet.m-key", "notify.url"].contains(&key)
}

macro_rules! keys {
    (|$settings:ident: $S:ty| $($name:literal $takes_effect:ident $place:expr => $format:expr;)*) => {
        &[$(Key {
            name: $name,
            takes_effect: TakesEffect::$takes_effect,
            read: |$settings: &mut $S, value| {
                $place = $format.read(value)?;
                Ok(())
            },
            print: |$settings: &$S| $format.print(&$place),
            copy: |from: &$S, to: &mut $S| {
                let value = {
                    let $settings = from;
                    $place.clone()
                };
                let $settings = to;
                $place = value;
            },
        },)*]
    };
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// 365 days.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// Longest `replication.fabric`. The subnet prefix and a blank precede it in the fabric's name.
const FABRIC_MAX: usize = FABRIC_NAME_MAX - 17;
const _: () = assert!(FABRIC_MAX == 111, "the error names the limit");

/// Members of an etcd cluster.
const ETCD_MEMBER: Text = Text {
    expected: "an address such as \"https://etcd1:2379\" (http:// only for loopback addresses, such as \"http://127.0.0.1:2379\", \
               because records hold keys)",
    is_valid: is_etcd_member,
};

/// The keys of all sections, in the order of `etc/ferrosm.toml`.
#[rustfmt::skip]
pub(super) const KEYS: &[Key<Settings>] = keys! { |settings: Settings|
    "port.ca" Restart settings.port.ca => TEXT;
    "port.number" Restart settings.port.port => OptionalPortNum;
    "port.guid" Restart settings.port.port_guid => Hex;

    "sm.priority" Reload settings.sm.priority => Whole(0..=15);
    "sm.sm-key" Reload settings.sm.sm_key => Secret;
    "sm.poll-interval" Reload settings.sm.sm_poll_interval => Time::within(ms(100), HOUR);
    "sm.poll-retries" Reload settings.sm.sm_poll_retries => Whole(1..=100);
    "sm.peers" Reload settings.sm.peer_sms => PortGuids;
    "sm.peer-poll-interval" Reload settings.sm.peer_poll_interval => Time::within(ms(50), HOUR);
    "sm.peer-poll-retries" Reload settings.sm.peer_poll_retries => Whole(1..=100);
    "sm.master-priority" Reload settings.sm.master_priority => Whole(0..=15);
    "sm.handover-tries" Reload settings.sm.handover_tries => Whole(1..=100);
    "sm.wait-polls" Reload settings.sm.wait_polls => Whole(1..=200);
    "sm.allowed-guids" Reload settings.sm.allowed_sms => PortGuids;
    "sm.refuse-managed-subnet" Reload settings.sm.refuse_managed_subnet => Flag;

    "subnet.prefix" RestartIfReplicated settings.sm.subnet_prefix.0 => Hex;
    "subnet.m-key" Reload settings.sm.m_key => Secret;
    "subnet.m-key-lease-period" Reload settings.sm.m_key_lease_period_s => Seconds(0..=u16::MAX);
    "subnet.m-key-protect-bits" Reload settings.sm.m_key_protect_bits => Whole(0..=3);
    "subnet.timeout" Reload settings.sm.subnet_timeout => Whole(0..=31);
    "subnet.client-reregister" Reload settings.sm.client_reregister => Flag;

    "lids.lmc" Reload settings.sm.lmc.0 => Whole(0..=7);
    "lids.lmc-esp0" Reload settings.sm.lmc_esp0 => Flag;
    "lids.reassign" Reload settings.sm.reassign_lids => Flag;

    "routing.engines" Reload settings.sm.engines => Engines;
    "routing.budget" Reload settings.sm.routing_budget => Time::within(Duration::ZERO, DAY);
    "routing.drain" Reload settings.sm.routing_drain => Keyword(&[
        ("avoid", DrainPolicy::Avoid),
        ("allow", DrainPolicy::Allow),
    ]);
    "routing.vls" Reload settings.sm.routing_vls => DataVls;
    "routing.root-guid-file" Reload settings.routing_files.root_guid_file => TEXT;
    "routing.cn-guid-file" Reload settings.routing_files.cn_guid_file => TEXT;
    "routing.io-guid-file" Reload settings.routing_files.io_guid_file => TEXT;
    "routing.ids-guid-file" Reload settings.routing_files.ids_guid_file => TEXT;
    "routing.guid-routing-order-file" Reload settings.routing_files.guid_routing_order_file => TEXT;
    "routing.hop-weights-file" Reload settings.routing_files.hop_weights_file => TEXT;
    "routing.port-search-ordering-file" Reload settings.routing_files.port_search_ordering_file => TEXT;
    "routing.port-prof-ignore-file" Reload settings.routing_files.port_prof_ignore_file => TEXT;
    "routing.torus-config" Reload settings.routing_files.torus_config => TEXT;
    "routing.lfts-file" Reload settings.routing_files.lfts_file => TEXT;
    "routing.sl2vl-file" Reload settings.routing_files.sl2vl_file => TEXT;
    "routing.path-sl-file" Reload settings.routing_files.path_sl_file => TEXT;
    "routing.prefix-routes-file" Reload settings.prefix_routes_file => TEXT;

    "partitions.file" Reload settings.partitions.file => TEXT;
    "partitions.enforce" Reload settings.partitions.enforce => Keyword(&[
        ("both", Enforcement::Both),
        ("in", Enforcement::In),
        ("out", Enforcement::Out),
        ("off", Enforcement::Off),
    ]);
    "partitions.allow-both-pkeys" Reload settings.partitions.allow_both_pkeys => Flag;
    "partitions.adopt" Reload settings.sm.replaces_foreign_settings => Flag;

    "qos.policy-file" Reload settings.qos_policy_file => TEXT;

    "links.packet-life-time" Reload settings.sm.packet_life_time => Whole(0..=31);
    "links.hoq-life" Reload settings.sm.hoq_life => Whole(0..=31);
    "links.leaf-hoq-life" Reload settings.sm.leaf_hoq_life => Whole(0..=31);
    "links.vl-stall-count" Reload settings.sm.vl_stall_count => Whole(0..=7);
    "links.leaf-vl-stall-count" Reload settings.sm.leaf_vl_stall_count => Whole(0..=7);
    "links.max-operational-vls" Reload settings.sm.max_operational_vls => Whole(1..=5);
    "links.local-phy-errors" Reload settings.sm.local_phy_errors => Whole(0..=15);
    "links.overrun-errors" Reload settings.sm.overrun_errors => Whole(0..=15);
    "links.bounce" Reload settings.sm.bounce_links => Flag;

    "sweep.interval" Reload settings.sm.sweep_interval => Time::within(ms(100), DAY).or_zero("every 5 minutes only");
    "sweep.smp-timeout" Reload settings.sm.smp_timeout => Time::within(ms(1), MINUTE);
    "sweep.smp-retries" Reload settings.sm.smp_retries => Whole(0..=7);
    "sweep.max-outstanding" Reload settings.sm.max_outstanding => Whole(1..=4096);
    "sweep.max-outstanding-per-node" Reload settings.sm.max_outstanding_per_node => Whole(1..=1024);
    "sweep.new-port-budget" Reload settings.sm.new_port_budget => Whole(1..=10_000_000);

    "sa.max-requests-per-host-s" Restart settings.sa.rate => Whole(0..=10_000_000);
    "sa.max-waiting-per-host" Restart settings.sa.per_client => Whole(1..=65_536);
    "sa.max-waiting" Restart settings.sa.total => Whole(16..=1_048_576);
    "sa.max-waiting-tables" Restart settings.sa.tables => Whole(1..=65_536);
    "sa.max-tables-mib" Restart settings.sa.table_bytes_in_flight => Mib(1..=4096);
    "sa.consolidate-solicited-node" Reload settings.sm.consolidate_solicited_node => Flag;

    "replication.listen" Restart settings.replication.listen => SocketAddress("0.0.0.0:7471");
    "replication.peers" Restart settings.replication.peers => List(Text {
        expected: "a host name or address with a port, such as \"sm1:7471\"",
        is_valid: has_port,
    });
    "replication.etcd" Restart settings.replication.etcd => List(ETCD_MEMBER);
    "replication.etcd-prefix" Restart settings.replication.etcd_prefix => Text {
        expected: "text that begins with a slash, at most 200 bytes",
        is_valid: |text| text.starts_with('/') && text.len() <= 200,
    };
    "replication.etcd-lease" Restart settings.replication.etcd_lease_s => Seconds(1..=60);
    "replication.fabric" Restart settings.replication.fabric => Text {
        expected: "text of at most 111 bytes",
        is_valid: |text| text.len() <= FABRIC_MAX,
    };
    "replication.ca" Restart settings.replication.ca => TEXT;
    "replication.certificate" Restart settings.replication.certificate => TEXT;
    "replication.key" Restart settings.replication.key => TEXT;
    "replication.server-name" Restart settings.replication.server_name => TEXT;
    "replication.heartbeat" Restart settings.replication.heartbeat => Time::within(ms(10), MINUTE);
    "replication.lease" Restart settings.replication.lease => Time::within(ms(20), MINUTE);
    "replication.ack-timeout" Restart settings.replication.ack_timeout => Time::within(ms(50), MINUTE);
    "replication.main-loop-stall-timeout" Restart settings.replication.main_loop_stall_timeout => Time::within(ms(100), MINUTE);

    "files.state-dir" Restart settings.state_dir => TEXT;
    "files.dump-dir" Reload settings.dump_dir => TEXT;
    "files.capture" Restart settings.capture => TEXT;
    "files.rings-mib" Restart settings.rings_mib => Whole(0..=65_536);

    "api.listen" Restart settings.api.listen => SocketAddress("0.0.0.0:7473");
    "api.certificate" Restart settings.api.certificate => TEXT;
    "api.key" Restart settings.api.key => TEXT;
    "api.client-ca" Restart settings.api.client_ca => TEXT;

    "ufm.listen" Restart settings.ufm.listen => SocketAddress("0.0.0.0:7474");
    "ufm.certificate" Restart settings.ufm.certificate => TEXT;
    "ufm.key" Restart settings.ufm.key => TEXT;
    "ufm.user" Restart settings.ufm.user => TEXT;
    "ufm.password-file" Restart settings.ufm.password_file => TEXT;

    "web.listen" Restart settings.web => SocketAddress("127.0.0.1:7475");

    "metrics.listen" Restart settings.metrics => SocketAddress("127.0.0.1:9793");

    "health.expect" Reload settings.health_expect => Time::within(MINUTE, YEAR);

    "cabling.plan" Reload settings.cabling_plan_file => TEXT;

    "log.format" Restart settings.log.format => Keyword(&[
        ("compact", LogFormat::Compact),
        ("json", LogFormat::Json),
        ("opensm", LogFormat::Opensm),
    ]);
    "log.level" Reload settings.log.level => Text {
        expected: "error, warn, info, debug or trace, or a list such as \"info,ferrosm_core=debug\"",
        is_valid: |text| parse_log_level(text).is_some(),
    };
};

/// Keys with another name than in earlier versions.
pub(super) const RENAMED: &[(&str, &str)] = &[
    ("replication.limit", "replication.ack-timeout"),
    ("replication.hang", "replication.main-loop-stall-timeout"),
];

/// The name of the list of partitions.
pub(super) const PARTITION: &str = "partition";

/// The keys of `[[partition]]`.
#[rustfmt::skip]
pub(super) const PARTITION_KEYS: &[Key<PartitionEntry>] = keys! { |entry: PartitionEntry|
    "partition.name" Reload entry.name => TEXT;
    "partition.pkey" Reload entry.pkey => PKey;
    "partition.index0" Reload entry.index0 => Flag;
    "partition.ipoib" Reload entry.ipoib => Flag;
    "partition.flags" Reload entry.flags => List(TEXT);
    "partition.default-membership" Reload entry.default_membership => TEXT;
    "partition.members" Reload entry.members => List(TEXT);
    "partition.groups" Reload entry.groups => List(TEXT);
};

/// The name of the list of clients of the API over TCP.
pub(super) const API_CLIENT: &str = "api-client";

/// The keys of `[[api-client]]`.
#[rustfmt::skip]
pub(super) const API_CLIENT_KEYS: &[Key<ApiClientEntry>] = keys! { |entry: ApiClientEntry|
    "api-client.subject" Reload entry.subject => TEXT;
    "api-client.role" Reload entry.role => Keyword(&[
        ("view", ClientRole::View),
        ("operate", ClientRole::Operate),
        ("admin", ClientRole::Admin),
    ]);
};

/// The name of the list of those who are notified of alarms.
pub(super) const NOTIFY: &str = "notify";

/// The keys of `[[notify]]`.
#[rustfmt::skip]
pub(super) const NOTIFY_KEYS: &[Key<NotifyEntry>] = keys! { |entry: NotifyEntry|
    "notify.name" Reload entry.name => TEXT;
    "notify.url" Reload entry.url => URL;
    "notify.ca" Reload entry.ca => TEXT;
    "notify.exec" Reload entry.exec => List(TEXT);
    "notify.syslog" Reload entry.syslog => SYSLOG;
    "notify.kinds" Reload entry.kinds => List(TEXT);
    "notify.severity" Reload entry.severity => Keyword(&[
        ("warning", EventSeverity::Warning),
        ("error", EventSeverity::Error),
    ]);
};

/// The name of the list of declared invariants.
pub(super) const INVARIANT: &str = "invariant";

/// The keys of `[[invariant]]`.
#[rustfmt::skip]
pub(super) const INVARIANT_KEYS: &[Key<InvariantEntry>] = keys! { |entry: InvariantEntry|
    "invariant.name" Reload entry.name => TEXT;
    "invariant.kind" Reload entry.kind => TEXT;
    "invariant.from" Reload entry.from => List(TEXT);
    "invariant.to" Reload entry.to => List(TEXT);
    "invariant.max-hops" Reload entry.max_hops => Whole(0..=64);
    "invariant.max-routes" Reload entry.max_routes => Whole(0..=1_000_000_000);
    "invariant.max-percent-of-mean" Reload entry.max_percent_of_mean => Whole(0..=1_000_000);
};
