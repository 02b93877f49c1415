//! saquery against OpenSM and against ferrosm on one simulated fabric, compared query by query and
//! line by line.
//!
//! OpenSM brings the fabric up and serves the queries. Then it exits, ferrosm takes over on the
//! same port, keeps the LIDs, and serves the same queries. `tests/saquery/queries.txt` has the
//! queries, `tests/saquery/differences.txt` every difference with the name of its reason, which
//! `docs/sa.md` explains. An unlisted difference fails the test, and so does a listed one that does
//! not occur.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::paths::workspace;
use ferrosm_tests::programs::process::{Signal, poll_until};
use ferrosm_tests::programs::script::{Script, join_group, register_service, subscribe};

const SPEC: &str = "fat-tree2:4,2,2";
/// Two hosts on different leaves, and the leaves.
const NAMES: [(&str, &str); 4] = [
    ("h0", "host-0-0 mlx5_0"),
    ("h1", "host-1-1 mlx5_0"),
    ("s0", "leaf-0"),
    ("s1", "leaf-1"),
];
const BROADCAST: &str = "ff12:401b:ffff::ffff:ffff";
/// Separates the queries before clients have registered from those after.
const REGISTERED: &str = "[registered]";
const TIMEOUT: Duration = Duration::from_secs(900);
const REGISTRATION_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

/// A port as saquery names it.
struct Port {
    lid: String,
    guid: u64,
    gid: String,
}

type Answers = BTreeMap<String, Vec<String>>;

fn read(file: &str) -> String {
    let path = workspace().join("tests/saquery").join(file);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn saquery(sim: &FabricServer, args: &[&str]) -> String {
    let done = sim.run("saquery", args).expect_success();
    done.stdout.trim().to_owned()
}

fn ports(sim: &FabricServer) -> BTreeMap<&'static str, Port> {
    let port = |name| {
        let guid = saquery(sim, &["-G", name]);
        let digits = guid.trim_start_matches("0x");
        let guid = u64::from_str_radix(digits, 16).unwrap_or_else(|e| panic!("{guid}: {e}"));
        let part = |n: u32| guid >> (16 * n) & 0xFFFF;
        Port {
            lid: saquery(sim, &["-l", name]),
            guid,
            gid: format!(
                "fe80::{:x}:{:x}:{:x}:{:x}",
                part(3),
                part(2),
                part(1),
                part(0)
            ),
        }
    };
    NAMES.map(|(key, name)| (key, port(name))).into()
}

/// Placeholders for names, LIDs, GUIDs and GIDs.
fn placeholders(ports: &BTreeMap<&'static str, Port>) -> BTreeMap<String, String> {
    let mut placeholders = BTreeMap::from([
        ("{mgid}".to_owned(), BROADCAST.to_owned()),
        ("{mlid}".to_owned(), "0xC000".to_owned()),
    ]);
    for (key, name) in NAMES {
        let port = &ports[key];
        placeholders.insert(format!("{{{key}}}"), port.lid.clone());
        placeholders.insert(format!("{{{key}name}}"), name.to_owned());
        placeholders.insert(format!("{{{key}guid}}"), format!("{:#018x}", port.guid));
        placeholders.insert(format!("{{{key}gid}}"), port.gid.clone());
    }
    placeholders
}

/// Runs all queries on the SM's host in one shell; each result begins with its query.
fn answers(
    sim: &FabricServer,
    queries: &[&str],
    placeholders: &BTreeMap<String, String>,
) -> Answers {
    let mut script = String::new();
    for query in queries {
        let command = query.split(' ').map(|word| {
            let word = placeholders
                .iter()
                .fold(word.to_owned(), |w, (k, v)| w.replace(k, v));
            format!(" '{word}'")
        });
        let command: String = command.collect();
        // Writing into a String cannot fail, here and below.
        let _ = writeln!(
            script,
            "echo '### {query}'; saquery{command} 2>&1; echo \"= $?\""
        );
    }
    let file = sim.dir().join("queries.sh");
    fs::write(&file, script).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let launch = sim.launch("sh", None).args(&[file.to_string_lossy()]);
    let done = launch.start(sim.dir()).wait(TIMEOUT).expect_success();
    let mut all = Answers::new();
    let mut current = None;
    for line in done.stdout.lines() {
        if let Some(query) = line.strip_prefix("### ") {
            current = Some(all.entry(query.to_owned()).or_default());
        } else if let Some(lines) = &mut current {
            lines.extend(normalize(line));
        }
    }
    assert_eq!(all.len(), queries.len(), "duplicate query");
    all
}

/// Removes from a line what depends on when and by which route the device was read.
fn normalize(line: &str) -> Option<String> {
    let line = line.trim_end();
    if line.is_empty() || line.starts_with("ibwarn:") {
        return None;
    }
    for volatile in ["ActCount", "LocalPort:"] {
        if line.trim_start().starts_with(volatile) {
            return Some(format!("\t\t{volatile}"));
        }
    }
    Some(line.to_owned())
}

/// The records of a result in any order: an unindented line and the indented lines below it.
fn records(lines: &[String]) -> Vec<Vec<&str>> {
    let mut entries: Vec<Vec<&str>> = Vec::new();
    for line in lines {
        match entries.last_mut() {
            Some(record) if line.starts_with(char::is_whitespace) => record.push(line.trim()),
            _ => entries.push(vec![line.trim()]),
        }
    }
    entries
}

fn add_counts<T: Ord>(items: impl IntoIterator<Item = T>, sign: i32, into: &mut BTreeMap<T, i32>) {
    for item in items {
        *into.entry(item).or_default() += sign;
    }
    into.retain(|_, n| *n != 0);
}

/// The differences, one line each: `- 3 LINE` occurs three times more with OpenSM, `+ 1 LINE` once
/// more with ferrosm. Equal records are removed first.
fn difference(with_opensm: &[String], with_ferrosm: &[String]) -> BTreeSet<String> {
    let mut results = BTreeMap::new();
    add_counts(records(with_opensm), -1, &mut results);
    add_counts(records(with_ferrosm), 1, &mut results);
    let mut lines = BTreeMap::new();
    for (record, n) in &results {
        let sign = n.signum();
        for _ in 0..n.abs() {
            add_counts(record.iter().copied(), sign, &mut lines);
        }
    }
    let mut all: BTreeSet<String> = lines
        .into_iter()
        .map(|(line, n)| format!("{} {} {line}", if n < 0 { '-' } else { '+' }, n.abs()))
        .collect();
    if all.is_empty() && !results.is_empty() {
        all.insert("~ the same lines make other records".to_owned());
    }
    all
}

/// One entry of the list: the name of the reason and the lines that differ.
type Listed = BTreeMap<String, (String, BTreeSet<String>)>;

/// The list: `= REASON`, then one or more `? QUERY`, then the lines that differ in all of them.
fn listed() -> Listed {
    let text = read("differences.txt");
    let mut all = Listed::new();
    for block in text.split("\n\n") {
        let mut reason = String::new();
        let mut queries = Vec::new();
        let mut lines = BTreeSet::new();
        for line in block.lines().filter(|l| !l.starts_with('#')) {
            match line.split_once(' ') {
                Some(("=", name)) => name.clone_into(&mut reason),
                Some(("?", query)) => queries.push(query.to_owned()),
                _ => drop(lines.insert(line.to_owned())),
            }
        }
        for query in queries {
            let twice = all.insert(query.clone(), (reason.clone(), lines.clone()));
            assert!(twice.is_none(), "{query} is listed twice");
        }
    }
    all
}

/// Registrations of a host: it joins the broadcast group and creates another one; the last host
/// registers a service and subscribes to all notices.
fn registrations(sm: &str, port: &Port, is_last: bool) -> String {
    let mut text = join_group(sm, port.guid);
    if is_last {
        text += &register_service(sm, port.guid, "example");
        text += &subscribe(sm);
    }
    text
}

fn register(sim: &FabricServer, ports: &BTreeMap<&'static str, Port>) {
    let script = Script::build(sim);
    for (key, name) in &NAMES[..2] {
        let text = registrations(&ports["h0"].lid, &ports[key], *key == "h1");
        script.send(sim, name, &text);
    }
    // The client does not wait for replies to these requests.
    poll_until(REGISTRATION_LIMIT, PAUSE, || {
        let registered = [("-S", 1), ("-I", 1), ("-g", 2)]
            .iter()
            .all(|(flag, n)| saquery(sim, &[flag]).matches(" dump:").count() >= *n);
        registered
            .then_some(())
            .ok_or_else(|| "not registered".to_owned())
    })
    .unwrap_or_else(|reason| panic!("{reason}"));
}

/// All results with the current SM, before and after clients register.
fn all_answers(sim: &FabricServer, queries: &str) -> Answers {
    let ports = ports(sim);
    let placeholders = placeholders(&ports);
    let (before, after) = queries
        .split_once(REGISTERED)
        .unwrap_or_else(|| panic!("two parts"));
    let parse_queries = |part: &str| -> Vec<String> {
        let lines = part
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'));
        lines.map(str::to_owned).collect()
    };
    let before = parse_queries(before);
    let after = parse_queries(after);
    let run_all = |part: &[String]| {
        let lines: Vec<&str> = part.iter().map(String::as_str).collect();
        answers(sim, &lines, &placeholders)
    };
    let mut all = run_all(&before);
    register(sim, &ports);
    for (query, lines) in run_all(&after) {
        all.insert(format!("{REGISTERED} {query}"), lines);
    }
    all
}

#[test]
fn saquery_output_equals_that_of_opensm_except_for_listed_differences() {
    let queries = read("queries.txt");
    let sim = FabricServer::shape(SPEC);
    let mut opensm = OpenSm::start(&sim, None, &["-R", "minhop"]);
    opensm.wait_until_up(1);
    let with_opensm = all_answers(&sim, &queries);
    drop(opensm.stop(Signal::Terminate));
    let lab = ManagedFabric::on(sim, &[]);
    let with_ferrosm = all_answers(&lab.sim, &queries);

    let mut listed = listed();
    let mut failures = String::new();
    for (query, lines) in &with_opensm {
        let found = difference(lines, &with_ferrosm[query]);
        let known = listed.remove(query).unwrap_or_default();
        if found == known.1 {
            continue;
        }
        let _ = writeln!(failures, "= {}\n? {query}", known.0);
        for line in &found {
            let _ = writeln!(failures, "{line}");
        }
        for line in known.1.difference(&found) {
            let _ = writeln!(failures, "# listed, does not occur: {line}");
        }
        failures.push('\n');
    }
    for query in listed.keys() {
        let _ = writeln!(failures, "# listed, not in queries.txt: {query}");
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The documentation page explains exactly the listed reasons.
#[test]
fn every_difference_is_documented() {
    let page = workspace().join("docs/sa.md");
    let page = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{e}"));
    let documented: BTreeSet<&str> = page
        .lines()
        .filter_map(|l| l.strip_prefix("| `")?.split_once("` | "))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with("d-"))
        .collect();
    let all = listed();
    let names: BTreeSet<&str> = all.values().map(|(name, _)| name.as_str()).collect();
    assert_eq!(documented, names);
}
