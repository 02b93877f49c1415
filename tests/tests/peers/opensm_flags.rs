//! Flags of the installed OpenSM on ferrosm's command line.

use ferrosm_tests::programs::paths;
use ferrosm_tests::programs::process::Launch;
use ferrosm_tests::programs::scratch::Scratch;

/// Flags with the same meaning in both programs.
const SHARED: [&str; 9] = [
    "--version",
    "--config",
    "--lmc",
    "--priority",
    "--once",
    "--Pconfig",
    "--qos_policy_file",
    "--prefix_routes_file",
    "--help",
];
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// A flag as OpenSM's help lists it: `--priority, -p <PRIORITY>`.
fn flag_of(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let name = words.first()?.trim_end_matches(',');
    let is_flag = name.starts_with("--") && !name.trim_matches('-').is_empty();
    if !is_flag || SHARED.contains(&name) || name == "--V" {
        return None;
    }
    let value = if line.contains('<') || line.contains("[both") {
        " 1"
    } else {
        ""
    };
    Some(format!("{name}{value}"))
}

#[test]
fn every_flag_of_opensm_is_explained() {
    let scratch = Scratch::new("flags");
    let help = Launch::new(paths::find("opensm".as_ref()))
        .args(&["--help"])
        .start(scratch.path())
        .wait(TIMEOUT);
    let text = format!("{}{}", help.stdout, help.stderr);
    let flags: Vec<String> = text.lines().filter_map(flag_of).collect();
    assert!(flags.len() > 45, "{text}");
    let words: Vec<&str> = flags.iter().flat_map(|flag| flag.split(' ')).collect();
    let done = Launch::new(paths::ferrosm())
        .args(&["run"])
        .args(&words)
        .start(scratch.path())
        .wait(TIMEOUT);
    assert_eq!(done.status.code(), Some(2), "{}", done.stderr);
    // The value of a key is not shown.
    let is_key = |flag: &str| ["--smkey", "--cc_key"].contains(&flag);
    for flag in &flags {
        let flag = match flag.split_once(' ') {
            Some((name, _)) if is_key(name) => format!("{name} (not shown)"),
            Some(_) | None => flag.clone(),
        };
        let listed = done.stderr.lines().any(|line| {
            let rest = line.trim_start().strip_prefix(flag.as_str());
            rest.is_some_and(|rest| rest.starts_with("  "))
        });
        assert!(listed, "{flag}\n{}", done.stderr);
    }
}
