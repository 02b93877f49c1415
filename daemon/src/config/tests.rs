//! Tests of parsing and of error messages.

use super::*;

fn errors(text: &str) -> String {
    let source = ConfigSource::parse(Path::new("f.toml"), text);
    let settings = source.and_then(|source| source.resolve(|_| {}));
    settings.unwrap_err().to_string()
}

/// Each line begins with a position and has a text.
fn assert_errors(found: &str, expected: &[(&str, &str)]) {
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{found}");
    for (line, (start, text)) in lines.iter().zip(expected) {
        assert!(line.starts_with(start), "{start}: {found}");
        assert!(line.contains(text), "{text}: {found}");
    }
}

#[test]
fn empty_file_has_defaults() {
    let source = ConfigSource::parse(Path::new("f"), "").unwrap();
    assert_eq!(source.settings, Settings::default());
}

/// The error names the files and services that replace the list, and the rest of the file is
/// checked.
#[test]
fn list_of_fabrics_is_refused_with_what_replaces_it() {
    let found = errors(
        "[[fabric]]\nname = \"a\"\n[fabric.sm]\npriority = 1\n[[fabric]]\nname = \"b\"\n[sm]\npirority = 1\n",
    );
    assert_errors(
        &found,
        &[
            (
                "f.toml:1:",
                "write /etc/ferrosm/a.toml and /etc/ferrosm/b.toml with the sections in common",
            ),
            ("f.toml:8:1: ", "unknown key `pirority`"),
        ],
    );
    assert!(
        found.contains("and start ferrosm@a and ferrosm@b"),
        "{found}"
    );
    let found = errors("[fabric.port]\nca = \"x\"\n");
    assert!(
        found.contains("configures one subnet: write [SECTION]"),
        "{found}"
    );
}

/// All errors are reported together, in the order of the file.
#[test]
fn all_errors_are_reported() {
    let found =
        errors("[sm]\npirority = 3\npoll-interval = 10\n\n[lids]\nlmc = 9\n[colour]\nx = 1\n");
    assert_errors(
        &found,
        &[
            (
                "f.toml:2:1: unknown key `pirority` in [sm]",
                "did you mean `priority`?",
            ),
            (
                "f.toml:3:17: sm.poll-interval: expected",
                "\"100ms\" to \"1h\" in quotes, found 10",
            ),
            ("f.toml:6:7: lids.lmc: expected", "from 0 to 7, found 9"),
            (
                "f.toml:7:2: unknown section or key `colour`",
                "port, sm, subnet, lids",
            ),
        ],
    );
}

#[test]
fn key_of_another_section_is_suggested() {
    let found = errors("[sm]\nlmc = 1\n");
    assert_errors(
        &found,
        &[(
            "f.toml:2:1: unknown key `lmc` in [sm]",
            "did you mean lids.lmc?",
        )],
    );
    let found = errors("lmc = 1\n");
    assert_errors(&found, &[("f.toml:1:1: unknown key `lmc`", "as lids.lmc")]);
    let found = errors("[lid]\n");
    assert_errors(
        &found,
        &[("f.toml:1:2: unknown section [lid]", "did you mean [lids]?")],
    );
}

#[test]
fn every_unknown_engine_is_reported() {
    let found = errors("[routing]\nengines = [\"updm\", \"minhop\", \"zigzag\"]\n");
    assert_errors(
        &found,
        &[
            (
                "f.toml:2:12: routing.engines: ",
                "`updm`: did you mean `updn`?",
            ),
            (
                "f.toml:2:30: routing.engines: ",
                "`zigzag`: the engines are ",
            ),
        ],
    );
    let found = errors("[routing]\nengines = [\"no_fallback\"]\n");
    assert_errors(
        &found,
        &[("f.toml:2:11: routing.engines: ", "names no engine")],
    );
}

/// Positions of syntax errors are those of the parser.
#[test]
fn syntax_errors_are_reported_with_their_line() {
    let found = errors("[sm]\npriority = \n");
    assert!(found.contains(": missing value after `=`"), "{found}");
    for (text, start) in [
        ("[sm]\npriority = \n", "f.toml:2:"),
        ("[sm]\npriority = 1\n\npriority = 2\n", "f.toml:4:1: "),
        ("[[partition]]\nname = \"a\"\n[partition]\n", "f.toml:3:2: "),
    ] {
        let found = errors(text);
        assert!(found.starts_with(start), "{found}");
        let last = found.lines().last().unwrap();
        assert!(last.ends_with("when the file is valid TOML"), "{found}");
    }
}

#[test]
fn opensm_configuration_is_recognized() {
    let found = errors("# OpenSM\nguid 0x0000000000000000\nsm_priority 3\n");
    assert_errors(
        &found,
        &[(
            "f.toml: this is an OpenSM configuration",
            "`ferrosm config import` converts it",
        )],
    );
}

/// Every value that a key does not accept is an error that says what the key accepts.
#[test]
fn values_of_other_types_are_rejected_with_what_is_expected() {
    for (text, start, expected) in [
        (
            "[sm]\npriority.x = 1\n",
            "f.toml:2:1: sm.priority: ",
            "from 0 to 15, found a section",
        ),
        (
            "[sm]\npirority.x = 1\n",
            "f.toml:2:1: ",
            "unknown key `pirority` in [sm]",
        ),
        (
            "[routing]\nengines = \"ftree\"\n",
            "f.toml:2:11: ",
            "a list, such as [\"ftree\"]",
        ),
        ("sm = 5\n", "f.toml:1:6: sm: ", "expected a section"),
        (
            "[lids]\nreassign = \"yes\"\n",
            "f.toml:2:12: ",
            "true or false, found \"yes\"",
        ),
        (
            "[port]\nca = 5\n",
            "f.toml:2:6: port.ca: ",
            "text in quotes, found 5",
        ),
        (
            "[log]\nformat = \"xml\"\n",
            "f.toml:2:10: log.format: ",
            "one of \"compact\", \"json\", \"opensm\", found \"xml\"",
        ),
        (
            "[log]\nlevel = \"loud\"\n",
            "f.toml:2:9: log.level: ",
            "error, warn, info",
        ),
        (
            "[metrics]\nlisten = \"here\"\n",
            "f.toml:2:10: ",
            "an address and a port",
        ),
        (
            "[sweep]\nsmp-timeout = \"2m\"\n",
            "f.toml:2:15: ",
            "\"1ms\" to \"1m\"",
        ),
        (
            "[sweep]\ninterval = \"1ms\"\n",
            "f.toml:2:12: ",
            "\"0s\" for every 5 minutes",
        ),
        (
            "[subnet]\nm-key-lease-period = \"1ms\"\n",
            "f.toml:2:22: ",
            "whole seconds",
        ),
        (
            "[port]\nguid = \"spine\"\n",
            "f.toml:2:8: ",
            "64-bit number",
        ),
    ] {
        assert_errors(&errors(text), &[(start, expected)]);
    }
}

/// An invalid value of a required key does not count as missing.
#[test]
fn every_error_of_every_partition_is_reported() {
    let found = errors(
        "[[partition]]\nname = \"a\"\npkey = true\nindex0 = 1\n\
         [[partition]]\nnmae = \"b\"\npkey = 2\n[[partition]]\nname = \"c\"\npkey = 0x8000\n",
    );
    assert_errors(
        &found,
        &[
            ("f.toml:3:8: partition.pkey: ", "found true"),
            ("f.toml:4:10: partition.index0: ", "true or false, found 1"),
            ("f.toml:5:1: partition: ", "key `name` is missing"),
            ("f.toml:6:1: unknown key `nmae` in [[partition]]", "`name`?"),
            ("f.toml:8:1: [[partition]] c: ", "invalid P_Key `0x8000`"),
        ],
    );
}

/// Sections without errors are checked completely, and input files are read.
#[test]
fn invalid_values_do_not_hide_other_errors() {
    let found = errors(
        "[lids]\nlmc = 9\n[sweep]\nmax-outstanding = 4\nmax-outstanding-per-node = 8\n\
         [subnet]\nm-key = true\nm-key-protect-bits = 2\n[routing]\nroot-guid-file = \"/no/such\"\n\
         [log]\nformat = 5\nlevel = \"loud\"\n",
    );
    assert_errors(
        &found,
        &[
            ("f.toml:2:7: lids.lmc: ", ""),
            (
                "f.toml:5:28: sweep.max-outstanding-per-node: ",
                "must not exceed",
            ),
            ("f.toml:7:9: subnet.m-key: ", ""),
            ("f.toml:12:10: log.format: ", ""),
            ("f.toml:13:9: log.level: ", ""),
            ("/no/such: ", "(named by routing.root-guid-file)"),
        ],
    );
}

/// Names are relative to the directory of the file; errors of keys and of input files are reported
/// together.
#[test]
fn input_files_are_read_with_the_file() {
    let dir = crate::testing::TempDir::new("config-input-files");
    let path = dir.path().join("f.toml");
    let resolve = |text: &str| ConfigSource::parse(&path, text).unwrap().resolve(|_| {});
    std::fs::write(dir.path().join("roots"), "0x10\n").unwrap();
    let sm = resolve("[routing]\nvls = 4\nroot-guid-file = \"roots\"\n")
        .unwrap()
        .sm;
    assert_eq!(sm.hints.roots, [ferrosm_mad::ids::NodeGuid(0x10)]);
    assert_eq!(sm.routing_vls, 4);

    std::fs::write(dir.path().join("roots"), "0x10\nspine\n").unwrap();
    let text = "[port]\nnumber = 1\n[routing]\nroot-guid-file = \"roots\"\n";
    let found = resolve(text).unwrap_err().to_string();
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 2, "{found}");
    assert!(
        lines[0].contains("f.toml:2:10: port.number: requires"),
        "{found}"
    );
    assert!(
        lines[1].contains("roots:2:1: invalid GUID `spine`"),
        "{found}"
    );
}

#[test]
fn flags_override_the_file() {
    let source = ConfigSource::parse(Path::new("f"), "[lids]\nlmc = 1\n").unwrap();
    assert_eq!(source.resolve(|_| {}).unwrap().sm.lmc.0, 1);
    let settings = source.resolve(|settings| settings.sm.lmc.0 = 2).unwrap();
    assert_eq!(settings.sm.lmc.0, 2);
}

/// The line of a secret is not shown, and neither is its value.
#[test]
fn secrets_are_not_in_reports() {
    let renderer = annotate_snippets::Renderer::plain();
    let source = ConfigSource::parse(Path::new("f"), "[subnet]\nm-key = \"0x1234\"\n").unwrap();
    let warnings: ConfigErrors = source
        .resolve(|_| {})
        .unwrap()
        .warnings
        .into_iter()
        .collect();
    let (report, _) = warnings.render(&renderer);
    assert!(
        report.contains("f:2:9") && !report.contains("1234"),
        "{report}"
    );
    let invalid = ConfigSource::parse(Path::new("f"), "[subnet]\nm-key = \"0x12g4\"\n");
    let (report, _) = invalid.unwrap_err().render(&renderer);
    assert!(
        report.contains("f:2:9") && !report.contains("12g4"),
        "{report}"
    );
}
