//! The systemd units in `dist`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ferrosm_tests::programs::paths::workspace;

/// Settings of a section of the systemd unit, each with its words.
fn unit(section: &str) -> BTreeMap<String, BTreeSet<String>> {
    let text = fs::read_to_string(workspace().join("dist/ferrosm.service"));
    // A missing file yields no settings and fails the tests.
    let text = text.unwrap_or_default();
    let head = format!("[{section}]");
    let own = text.lines().skip_while(|line| *line != head).skip(1);
    let mut settings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in own.take_while(|line| !line.starts_with('[')) {
        if let Some((key, words)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let words = words.split_whitespace().map(str::to_owned);
            settings.entry(key.to_owned()).or_default().extend(words);
        }
    }
    settings
}

fn has_word(of: &BTreeMap<String, BTreeSet<String>>, key: &str, word: &str) -> bool {
    of.get(key).is_some_and(|words| words.contains(word))
}

/// The unit of several subnets is that of one with other paths.
#[test]
fn units_of_one_and_several_subnets_are_alike() {
    let settings = |file: &str| -> Vec<String> {
        let text = fs::read_to_string(workspace().join(file)).unwrap_or_default();
        let lines = text.lines().skip_while(|line| *line != "[Unit]");
        lines.map(str::to_owned).collect()
    };
    let one = settings("dist/ferrosm.service").join("\n");
    let several = one
        .replace("(ferrosm)", "(ferrosm, %i)")
        .replace("/etc/ferrosm/ferrosm.toml", "/etc/ferrosm/%i.toml")
        .replace("StateDirectory=ferrosm\n", "StateDirectory=ferrosm/%i\n")
        .replace(
            "RuntimeDirectory=ferrosm\n",
            "RuntimeDirectory=ferrosm/%i\n",
        );
    assert!(!one.is_empty());
    assert_eq!(settings("dist/ferrosm@.service").join("\n"), several);
}

/// With `[replication]` a node must reach its peers by IP, and restart however often it fails.
#[test]
fn unit_allows_connections_between_nodes() {
    let before = unit("Unit");
    let service = unit("Service");
    let has_flag = |of: &BTreeMap<String, BTreeSet<String>>, key: &str, word: &str| {
        assert!(
            has_word(of, key, word),
            "no {word} in {key}: {:?}",
            of.get(key)
        );
    };
    for family in ["AF_UNIX", "AF_NETLINK", "AF_INET", "AF_INET6"] {
        has_flag(&service, "RestrictAddressFamilies", family);
    }
    for key in ["IPAddressDeny", "PrivateNetwork", "SocketBindDeny"] {
        assert!(!service.contains_key(key), "{key}: {:?}", service[key]);
    }
    has_flag(&before, "StartLimitIntervalSec", "0");
    has_flag(&service, "Restart", "on-failure");
}

/// `network-online.target` waits for IPoIB interfaces, which wait for links that the SM configures;
/// file systems over InfiniBand are mounted after `remote-fs-pre.target`.
#[test]
fn unit_starts_before_what_waits_for_its_links() {
    let order = unit("Unit");
    for target in [
        "network.target",
        "network-online.target",
        "remote-fs-pre.target",
    ] {
        assert!(has_word(&order, "Before", target), "{target}: {order:?}");
        for key in ["After", "Wants", "Requires"] {
            assert!(!has_word(&order, key, target), "{key}={target}");
        }
    }
    // Some distributions wait for the network before sysinit.target, which default dependencies
    // would wait for.
    assert!(has_word(&order, "DefaultDependencies", "no"), "{order:?}");
    for key in ["Before", "Conflicts"] {
        assert!(has_word(&order, key, "shutdown.target"), "{order:?}");
    }
}

/// Readiness and hangs are reported by the program; `systemd_accepts_the_unit_without_warnings`
/// checks the syntax.
#[test]
fn unit_is_watched_by_systemd() {
    let service = unit("Service");
    assert!(has_word(&service, "Type", "notify"), "{service:?}");
    let timeout = service.get("WatchdogSec").and_then(|words| words.first());
    let timeout: u32 = timeout.and_then(|text| text.parse().ok()).unwrap_or(0);
    // Building the tables of a large fabric occupies the loop for seconds.
    assert!((30..=120).contains(&timeout), "{service:?}");
}

/// systemd must not restart after errors that a restart cannot fix: an invalid configuration or
/// command line. It checks only the exit status of the main process, so no other command may fail
/// before it.
#[test]
fn unit_does_not_restart_after_configuration_errors() {
    let service = unit("Service");
    let prevents = service.get("RestartPreventExitStatus");
    let prevents =
        prevents.is_some_and(|codes| ["2", "78"].iter().all(|code| codes.contains(*code)));
    assert!(prevents, "{service:?}");
    for key in ["ExecStartPre", "ExecCondition"] {
        assert!(!service.contains_key(key), "{key}: {:?}", service[key]);
    }
}

/// An HCA may be probed after the unit is started. systemd does not retry an unmet condition, and a
/// missing required unit fails the start without a restart.
#[test]
fn unit_starts_before_the_hca_is_probed() {
    let before = unit("Unit");
    let gates: Vec<&String> = before
        .keys()
        .filter(|key| key.starts_with("Condition") || key.starts_with("Assert"))
        .chain(
            before
                .keys()
                .filter(|key| ["Requires", "Requisite", "BindsTo"].contains(&key.as_str())),
        )
        .collect();
    assert!(gates.is_empty(), "{gates:?}");
}
