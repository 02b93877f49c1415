//! Tests of whole imports.

use std::collections::BTreeMap;
use std::io;

use proptest::prelude::*;

use super::assignments::Assignments;
use super::evaluation::{ImportScope, Imported, evaluate};
use super::finding::{LineOutcome, Place};
use super::toml_text::{Secrets, render};
use super::{command_line, file_kind, input_files, partition_rules, start_files};

/// Imports an `opensm.conf` on a host with these files.
fn import(conf: &str, files: &[(&str, &str)]) -> Imported {
    let mut assignments = Assignments::default();
    assignments.add_file("opensm.conf", conf.as_bytes());
    assignments.correct();
    let files: BTreeMap<&str, &str> = files.iter().copied().collect();
    let read = |path: &str| {
        let text = files.get(path);
        text.map(|text| text.as_bytes().to_vec())
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    evaluate(&assignments, ImportScope::Sm, &read)
}

/// Line, outcome and text of all findings.
fn report(imported: &Imported) -> Vec<String> {
    let row = |f: &super::finding::Finding| {
        format!(
            "{} | {} | {} | {}",
            f.place,
            f.outcome.name(),
            f.line,
            f.text
        )
    };
    imported.findings.iter().map(row).collect()
}

fn assert_reported(imported: &Imported, place: &str, outcome: LineOutcome, text: &str) {
    let found = imported
        .findings
        .iter()
        .any(|f| f.place.to_string() == place && f.outcome == outcome && f.text.contains(text));
    assert!(
        found,
        "{place} {outcome:?} {text}\n{}",
        report(imported).join("\n")
    );
}

const MISSPELT: &str = "# subnet manager, head node 1
priority 15
routing_engine = ftree
root_guid_file /etc/opensm/roots.txt   # spines
log_level 0x07
partition_config /etc/opensm/partitions.conf
sweep_interval 3
ar_enable 1
sharp_enable 1
f_rebalance true
guid 0x0002c90400000021,0x0002c90400000031
log_max_size 100M
qos yes
";

#[test]
fn misspelt_options_are_ignored_with_a_suggestion() {
    let imported = import(MISSPELT, &[("/etc/opensm/roots.txt", "0x1\n")]);
    use LineOutcome::{Converted, Ignored};
    for (line, outcome, text) in [
        (
            2,
            Ignored,
            "kept sm_priority 0; did you mean `sm_priority`?",
        ),
        (
            3,
            Converted,
            "routing.engines = [\"ftree\"]; OpenSM skips `=`",
        ),
        (
            4,
            Converted,
            "routing.root-guid-file = \"/etc/opensm/roots.txt\"",
        ),
        (5, Ignored, "did you mean `log_flags`?"),
        (6, Ignored, "did you mean `partition_config_file`?"),
        (7, Converted, "sweep.interval = \"3s\""),
        (8, Ignored, "no option `ar_enable`"),
        (9, Ignored, "no option `sharp_enable`"),
        (10, Ignored, "no option `f_rebalance`"),
        (11, Ignored, "no number: OpenSM kept 0x0000000000000000"),
        (12, Ignored, "no number: OpenSM kept 0"),
        (13, Ignored, "only TRUE is true"),
    ] {
        assert_reported(&imported, &format!("opensm.conf:{line}"), outcome, text);
    }
    assert_eq!(imported.count(LineOutcome::ChangesBehaviour), 0);
    let toml = render(&imported, "x", Secrets::Written);
    assert!(!toml.contains("\npriority"), "{toml}");
    assert!(
        toml.contains("# opensm.conf:2: `priority 15` was ignored by OpenSM; if sm_priority was meant: priority = 15\n"),
        "{toml}"
    );
}

#[test]
fn partitions_that_opensm_drops_are_left_out() {
    let crlf = "Default=0x7fff,ipoib : ALL=full;\r\nVault=0x21 : 0x21;\r\n";
    let files = [("/etc/opensm/partitions.conf", crlf)];
    let imported = import("sm_priority 3\n", &files);
    assert_reported(
        &imported,
        "/etc/opensm/partitions.conf:1",
        LineOutcome::FileDropped,
        "OpenSM 3.3 stops here (\"no partition definition found\") and drops this file",
    );
    assert!(imported.value("partitions.file").is_none());
    let toml = render(&imported, "x", Secrets::Written);
    assert!(
        toml.contains(
            "# OpenSM's default /etc/opensm/partitions.conf: partitions.file is left out"
        ),
        "{toml}"
    );
}

#[test]
fn partitions_that_differ_are_written_as_entries() {
    let text = "Default=0x7fff, sl=3, ipoib, mtu=5, rate=12 : ALL=full ;\nA=0x8012 : 0x5=full ;\n";
    let files = [("/etc/opensm/partitions.conf", text)];
    let imported = import("", &files);
    assert_reported(
        &imported,
        "/etc/opensm/partitions.conf:1",
        LineOutcome::Ignored,
        "sl=3",
    );
    let toml = render(&imported, "x", Secrets::Written);
    assert!(
        toml.contains(
            "[[partition]]\nname = \"A\"\npkey = 0x0012\nmembers = [\"0x0000000000000005=full\"]\n"
        ),
        "{toml}"
    );
    // With QoS, ferrosm reads the same from the file.
    let imported = import("qos TRUE\n", &files);
    assert!(imported.partitions.is_empty());
    assert!(imported.value("partitions.file").is_some());
}

#[test]
fn qos_tables_are_not_imported() {
    let conf = "qos TRUE\nqos_vlarb_high 0:255\nqos_ca_high_limit 250\nqos_rtr_max_vls 0\n";
    let imported = import(conf, &[]);
    for line in [2, 3] {
        let place = format!("opensm.conf:{line}");
        assert_reported(
            &imported,
            &place,
            LineOutcome::ChangesBehaviour,
            "not imported",
        );
    }
    assert_reported(&imported, "opensm.conf:4", LineOutcome::Default, "");
    let without = import("qos_vlarb_high 0:255\nqos_policy_file /q\n", &[]);
    assert_reported(
        &without,
        "opensm.conf:1",
        LineOutcome::Ignored,
        "not used while `qos` is FALSE",
    );
    assert_reported(
        &without,
        "opensm.conf:2",
        LineOutcome::Ignored,
        "not used while `qos` is FALSE",
    );
    assert_eq!(without.count(LineOutcome::ChangesBehaviour), 0);
}

#[test]
fn keys_are_written_only_to_the_file() {
    let conf = "m_key 0x1122334455667788\nm_key_protection_level 2\nsm_key 0x99aabbccddeeff00\nsmkey 0x1234123412341234\nsa_key 0x77zz\n";
    let imported = import(conf, &[]);
    let all = format!("{}{:?}", report(&imported).join("\n"), imported.remarks);
    for secret in ["1122", "99aa", "1234", "77zz"] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
    let hidden = render(&imported, "x", Secrets::Omitted);
    assert!(
        !hidden.contains("1122") && !hidden.contains("99aa"),
        "{hidden}"
    );
    assert!(!hidden.contains("\nm-key"), "{hidden}");
    let written = render(&imported, "x", Secrets::Written);
    assert!(
        written.contains("m-key = \"0x1122334455667788\""),
        "{written}"
    );
    assert!(written.contains("m-key-protect-bits = 2"), "{written}");
}

#[test]
fn missing_file_is_reported_and_stays_as_a_comment() {
    let imported = import("root_guid_file /x\n", &[]);
    let changes = LineOutcome::ChangesBehaviour;
    assert_reported(&imported, "opensm.conf:1", changes, "does not exist here");
    let toml = render(&imported, "x", Secrets::Written);
    assert!(
        toml.contains("cannot be read here: root-guid-file = \"/x\"\n"),
        "{toml}"
    );
}

#[test]
fn key_of_sa_clients_is_compared_with_the_sm_key() {
    let differs = import("sm_key 0xab\n", &[]);
    assert_reported(
        &differs,
        "OpenSM's default",
        LineOutcome::ChangesBehaviour,
        "key 1",
    );
    let same = import("sm_key 0xab\nsa_key 0xab\n", &[]);
    assert_eq!(same.count(LineOutcome::ChangesBehaviour), 0);
    let other = import("sm_key 0xab\nsa_key 0xac\n", &[]);
    assert_eq!(other.count(LineOutcome::ChangesBehaviour), 1);
}

#[test]
fn last_line_of_an_option_is_used() {
    let imported = import(
        "sm_priority 5\nsm_priority 7\nlmc 9\nmax_wire_smps 8\nmax_wire_smps2 4\n",
        &[],
    );
    assert_reported(
        &imported,
        "opensm.conf:1",
        LineOutcome::Ignored,
        "opensm.conf:2 sets it again",
    );
    assert_reported(
        &imported,
        "opensm.conf:2",
        LineOutcome::Converted,
        "sm.priority = 7",
    );
    assert_reported(
        &imported,
        "opensm.conf:3",
        LineOutcome::Ignored,
        "9 is above 7: OpenSM uses 0",
    );
    assert_reported(
        &imported,
        "opensm.conf:4",
        LineOutcome::Converted,
        "sweep.max-outstanding = 8",
    );
    let toml = render(&imported, "x", Secrets::Written);
    assert!(toml.contains("max-outstanding-per-node = 8"), "{toml}");
}

#[test]
fn engine_that_opensm_uses_by_default_is_written() {
    let imported = import("", &[]);
    let toml = render(&imported, "x", Secrets::Written);
    assert!(toml.contains("engines = [\"minhop\"]"), "{toml}");
}

proptest! {
    /// Any bytes are imported without a panic, in bounded time.
    #[test]
    fn any_bytes_are_imported(
        bytes in prop::collection::vec(
            prop_oneof![
                any::<u8>(),
                prop::sample::select(b" \t\n\r#:;,=\"'0x1fAllSELmgid-\0".to_vec()),
            ],
            0..6000,
        ),
        flags in prop::collection::vec("-{0,2}[a-zA-Z0-9=_]{0,12}", 0..8),
    ) {
        let mut assignments = Assignments::default();
        assignments.add_file("f", &bytes);
        command_line::parse(&flags).apply(&Place::file("command line"), &mut assignments);
        assignments.correct();
        let imported = evaluate(&assignments, ImportScope::Sm, &|_| Ok(bytes.clone()));
        let _ = render(&imported, "x", Secrets::Omitted);
        let _ = partition_rules::read(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        let _ = start_files::read_script("f", &text);
        let _ = start_files::read_variables("f", &text);
        let _ = file_kind::detect(std::path::Path::new("f"), &bytes);
        let context = input_files::FileContext { qos: true, partitions: &[] };
        for option in ["root_guid_file", "qos_policy_file", "partition_config_file", "hop_weights_file"] {
            let _ = input_files::examine(option, "f", &bytes, context);
        }
    }

    /// Files that look like partitions are read to their end or dropped at one of their lines.
    #[test]
    fn partitions_like_text_is_read(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "Default=0x7fff", "A=0x12", ":", ";", ",", "ALL", "SELF=full", "0x1", "0x2=limited",
                "ipoib", "sl=3", "mgid=ff12:401b::16", "\n", " ", "# c\n", "\r\n", ";\n", "mgid",
            ]),
            0..60,
        ),
    ) {
        let text = words.concat();
        let lines = text.lines().count();
        if let partition_rules::PartitionsReading::Dropped { line: Some(line), .. } =
            partition_rules::read(text.as_bytes())
        {
            prop_assert!(line <= lines.max(1));
        }
    }
}
