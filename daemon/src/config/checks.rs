//! Combinations of keys: what excludes, requires or disables another key. Values of single keys
//! are checked where they are read.

use ferrosm_mad::ids::MKey;

use super::settings::Settings;
use super::{api, replication};

/// An error or a warning about a key.
pub(super) type KeyMessage = (&'static str, String);

/// Combinations that are errors.
pub(super) fn invalid_combinations(settings: &Settings) -> Vec<KeyMessage> {
    let mut errors = Vec::new();
    let mut report = |key, message: &str| errors.push((key, message.to_owned()));
    let sm = &settings.sm;
    if sm.m_key == MKey::NONE && sm.m_key_protect_bits > 0 {
        report(
            "subnet.m-key-protect-bits",
            "has no effect without subnet.m-key: set that key, or 0 here",
        );
    }
    if sm.m_key == MKey::NONE && sm.m_key_lease_period_s > 0 {
        report(
            "subnet.m-key-lease-period",
            "has no effect without subnet.m-key: set that key, or \"0s\" here",
        );
    }
    if usize::from(sm.max_outstanding_per_node) > sm.max_outstanding {
        report(
            "sweep.max-outstanding-per-node",
            "must not exceed sweep.max-outstanding",
        );
    }
    let port = &settings.port;
    if port.port_guid.is_some() && (port.ca.is_some() || port.port.is_some()) {
        report("port.guid", "excludes port.ca and port.number");
    }
    if port.port.is_some() && port.ca.is_none() && port.port_guid.is_none() {
        report("port.number", "requires port.ca");
    }
    replication::check_keys(&settings.replication, &mut report);
    api::check_keys(&settings.api, &mut report);
    api::check_ufm(&settings.ufm, &mut report);
    api::check_web(settings.web, &mut report);
    errors
}

/// Keys that have no effect, or the opposite one, because of others.
pub(super) fn ineffective_keys(settings: &Settings) -> Vec<KeyMessage> {
    let mut warnings = Vec::new();
    let mut warn = |key, message: &str| warnings.push((key, message.to_owned()));
    let sm = &settings.sm;
    if (1..sm.priority).contains(&sm.master_priority) {
        warn(
            "sm.master-priority",
            "no effect, because it is lower than sm.priority",
        );
    }
    if sm.sweep_interval.is_zero() {
        warn(
            "sweep.interval",
            "light sweeps run every 5 minutes only at \"0s\": until then, changes whose trap was lost, a cut of the SM's own cable that the driver \
             does not report, and new SMs are not noticed",
        );
    }
    if sm.peer_poll_interval > sm.sm_poll_interval {
        warn(
            "sm.peer-poll-interval",
            "SMs in sm.peers are polled less often than others, because it is longer than sm.poll-interval",
        );
    }
    if sm.m_key != MKey::NONE && sm.m_key_protect_bits == 0 {
        warn(
            "subnet.m-key",
            "protects nothing, because every host can read it by Get(PortInfo): set subnet.m-key-protect-bits to 2",
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSource;
    use std::path::Path;

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
        assert_eq!(ineffective_keys(&Settings::default()), []);
    }
}
