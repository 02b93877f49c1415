//! Repository rules that the compiler does not check: crate dependencies, import cycles, module
//! docs, file sizes, stubs, `unsafe`.

mod bindings;
mod book;
mod components;
mod imports;
mod language;
mod log_events;
mod page;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ferrosm_tests::programs::paths::workspace;
use imports::Crate;

/// Longest permitted file, in lines.
const LONGEST_FILE: usize = 800;
/// Longest permitted line of a comment, in columns; the same as `max_width` of `rustfmt.toml`.
const LONGEST_COMMENT: usize = 100;

/// The directories of the workspace crates.
const CRATES: &[&str] = &[
    "api",
    "mad",
    "umad",
    "routing",
    "fabric",
    "sa",
    "sm-core",
    "recording",
    "opensm-compat",
    "replication",
    "store",
    "daemon",
    "sim/fabric",
    "sim/channel",
    "sim/attach",
    "sim/server",
    "tests",
];

fn rust_files() -> Vec<PathBuf> {
    let mut results = Vec::new();
    for name in CRATES {
        add_rust_files(&workspace().join(name), &mut results);
    }
    results
}

/// Adds the Rust files in a directory tree, in order.
fn add_rust_files(dir: &Path, results: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap_or_else(|error| panic!("{error}")).path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            add_rust_files(&path, results);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            results.push(path);
        }
    }
}

/// One line for each violation, with its file.
fn violations(check: impl Fn(&str, &str) -> Vec<String>) -> Vec<String> {
    let root = workspace();
    let mut entries = Vec::new();
    for path in rust_files() {
        let name = path
            .strip_prefix(&root)
            .unwrap_or(&path)
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        entries.extend(
            check(&name, &text)
                .into_iter()
                .map(|violation| format!("{name}: {violation}")),
        );
    }
    entries
}

fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// Numbered lines that contain one of `words`. Callers split each word in two, so that this file
/// does not contain it.
fn lines_with(text: &str, words: &[String]) -> Vec<String> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| words.iter().any(|word| line.contains(word.as_str())))
        .map(|(number, line)| format!("line {}: {}", number + 1, line.trim()))
        .collect()
}

fn joined(parts: &[(&str, &str)]) -> Vec<String> {
    parts
        .iter()
        .map(|(head, tail)| format!("{head}{tail}"))
        .collect()
}

/// The module documentation states the purpose of the module.
#[test]
fn every_module_has_documentation() {
    assert_none(&violations(|_, text| {
        let headed = text
            .lines()
            .next()
            .is_some_and(|line| line.starts_with("//!"));
        if headed {
            vec![]
        } else {
            vec!["does not begin with `//!`".to_owned()]
        }
    }));
}

/// A long file usually has more than one concept.
#[test]
fn no_file_is_too_long() {
    assert_none(&violations(|_, text| {
        let lines = text.lines().count();
        if lines <= LONGEST_FILE {
            vec![]
        } else {
            vec![format!("{lines} lines")]
        }
    }));
}

/// `cargo fmt` does not wrap comments. Rows of tables and examples in code fences stay on one line.
#[test]
fn comments_have_at_most_100_columns() {
    assert_none(&violations(|_, text| {
        let mut in_fence = false;
        let mut found = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                in_fence = false;
                continue;
            };
            let prose = comment.trim_start_matches(['/', '!', ' ']);
            in_fence ^= prose.starts_with("```");
            let is_exempt = in_fence || prose.starts_with('|') || !prose.contains(' ');
            if line.chars().count() > LONGEST_COMMENT && !is_exempt {
                found.push(format!("line {}: {prose}", number + 1));
            }
        }
        found
    }));
}

/// Open work belongs in an issue.
#[test]
fn no_todo_or_stub_is_left() {
    let words = joined(&[
        ("FIX", "ME"),
        ("TO", "DO:"),
        ("XX", "X "),
        ("todo", "!("),
        ("unimplemented", "!("),
        ("dbg", "!("),
        ("#[ign", "ore"),
        ("#[should_", "panic"),
    ]);
    assert_none(&violations(|_, text| lines_with(text, &words)));
}

/// `unsafe` is limited to the calls of libibumad, rdma-core's verbs behind their feature, the
/// mapping of shared memory, and the library that interposes libc functions. Tests may also call
/// libibmad for its field table, and a benchmark may count bytes in an allocator.
/// Words that were once used beside the one that docs/glossary.md has.
const FORMER_WORDS: &[(&str, &str)] = &[
    ("engine mess", "age"),
    ("Engine", "Message"),
    ("Scope", "Kind"),
    ("of changed ", "parts"),
    ("saved ", "topology"),
    ("Quarantine", "Reason"),
];

#[test]
fn each_thing_has_one_word() {
    let words = joined(FORMER_WORDS);
    assert_none(&violations(|_, text| lines_with(text, &words)));
    let glossary = fs::read_to_string(workspace().join("docs/glossary.md")).unwrap();
    let pairs = joined(&[("messages", " say"), ("messages", ":"), ("log", ":")]);
    assert_none(&lines_with(&glossary, &pairs));
}

#[test]
fn unsafe_code_is_in_listed_files_only() {
    let words = joined(&[
        ("unsa", "fe {"),
        ("unsa", "fe fn"),
        ("unsa", "fe impl"),
        ("unsa", "fe extern"),
    ]);
    let allowed = |name: &str| {
        name == "umad/src/libibumad/sys.rs"
            || name.starts_with("daemon/src/run/verbs")
            || name == "daemon/src/allocator.rs"
            || name == "sim/channel/src/memory.rs"
            || name.starts_with("sim/attach/src/interpose/")
            || name == "sim/attach/src/next.rs"
            || [
                "sim/attach/src/verbs/abi.rs",
                "sim/attach/src/verbs/memory.rs",
            ]
            .contains(&name)
            || name == "sim/attach/tests/real/client.rs"
            || name == "mad/tests/wire/libibmad/mod.rs"
            || name == "tests/benches/sa_view.rs"
    };
    assert_none(&violations(|name, text| {
        if allowed(name) {
            vec![]
        } else {
            lines_with(text, &words)
        }
    }));
}

/// No committed file contains a path of a particular machine.
#[test]
fn no_file_contains_a_machine_path() {
    let words = joined(&[
        ("/ho", "me/"),
        ("/ro", "ot/"),
        ("/wo", "rk/"),
        ("/Us", "ers/"),
    ]);
    let root = workspace();
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(&root)
        .output();
    let Ok(listed) = listed
        .map_err(|error| error.to_string())
        .and_then(|output| {
            if output.status.success() {
                Ok(output)
            } else {
                Err("not a git checkout".to_owned())
            }
        })
    else {
        println!("not a git checkout: checking Rust files only");
        assert_none(&violations(|_, text| lines_with(text, &words)));
        return;
    };
    let mut results = Vec::new();
    for name in String::from_utf8_lossy(&listed.stdout)
        .split('\0')
        .filter(|name| !name.is_empty())
    {
        // Skips binary files and files deleted in the working tree.
        if let Ok(text) = fs::read_to_string(root.join(name)) {
            results.extend(
                lines_with(&text, &words)
                    .into_iter()
                    .map(|violation| format!("{name}: {violation}")),
            );
        }
    }
    assert_none(&results);
}

/// Standard output of a read-only cargo command.
fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(arguments)
        .arg("--offline")
        .current_dir(workspace())
        .output()
        .unwrap_or_else(|error| panic!("cargo {}: {error}", arguments[0]));
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Dependencies as Cargo resolves them: package name to (dependency, kind) pairs. Kind is `normal`,
/// `dev` or `build`.
fn dependencies() -> BTreeMap<String, BTreeSet<(String, String)>> {
    let output = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: serde_json::Value =
        serde_json::from_str(&output).unwrap_or_else(|error| panic!("cargo metadata: {error}"));
    let mut map = BTreeMap::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let edges: BTreeSet<(String, String)> = package["dependencies"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|edge| {
                let optional = if edge["optional"] == true {
                    "optional"
                } else {
                    "normal"
                };
                let kind = edge["kind"].as_str().unwrap_or(optional);
                (
                    edge["name"].as_str().unwrap_or_default().to_owned(),
                    kind.to_owned(),
                )
            })
            .collect();
        map.insert(
            package["name"].as_str().unwrap_or_default().to_owned(),
            edges,
        );
    }
    map
}

/// Permitted dependencies between the workspace packages, whose names begin with `ferrosm`.
#[test]
fn crate_dependencies_are_as_designed() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("ferrosm-mad", &[][..]),
        ("ferrosm-umad", &["ferrosm-mad"]),
        ("ferrosm-routing", &["ferrosm-mad"]),
        ("ferrosm-sim", &["ferrosm-mad"]),
        ("ferrosm-fabric", &["ferrosm-mad", "ferrosm-routing"]),
        (
            "ferrosm-sa",
            &["ferrosm-mad", "ferrosm-routing", "ferrosm-fabric"],
        ),
        (
            "ferrosm-core",
            &[
                "ferrosm-mad",
                "ferrosm-routing",
                "ferrosm-fabric",
                "ferrosm-sa",
            ],
        ),
        ("ferrosm-channel", &[][..]),
        ("ferrosm-attach", &["ferrosm-channel"]),
        (
            "ferrosm-sim-server",
            &[
                "ferrosm-mad",
                "ferrosm-umad",
                "ferrosm-sim",
                "ferrosm-channel",
            ],
        ),
        (
            "ferrosm-recording",
            &[
                "ferrosm-mad",
                "ferrosm-fabric",
                "ferrosm-sa",
                "ferrosm-core",
            ],
        ),
        ("ferrosm-replication", &["ferrosm-core"]),
        (
            "ferrosm-store",
            &[
                "ferrosm-mad",
                "ferrosm-fabric",
                "ferrosm-sa",
                "ferrosm-core",
                "ferrosm-replication",
            ],
        ),
        (
            "ferrosm-opensm-compat",
            &[
                "ferrosm-mad",
                "ferrosm-routing",
                "ferrosm-fabric",
                "ferrosm-sa",
                "ferrosm-core",
            ],
        ),
        (
            "ferrosm",
            &[
                "ferrosm-mad",
                "ferrosm-umad",
                "ferrosm-routing",
                "ferrosm-fabric",
                "ferrosm-sa",
                "ferrosm-core",
                "ferrosm-opensm-compat",
                "ferrosm-sim",
                "ferrosm-sim-server",
                "ferrosm-recording",
                "ferrosm-replication",
                "ferrosm-store",
                "ferrosm-api",
            ],
        ),
        ("ferrosm-api", &[]),
        (
            "ferrosm-tests",
            &[
                "ferrosm-mad",
                "ferrosm-routing",
                "ferrosm-fabric",
                "ferrosm-sa",
                "ferrosm-core",
                "ferrosm-sim",
                "ferrosm-channel",
                "ferrosm-recording",
                "ferrosm-store",
                "ferrosm",
            ],
        ),
    ]);
    let dependencies_by_package = dependencies();
    let names: Vec<&str> = dependencies_by_package.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        allowed.keys().copied().collect::<Vec<_>>(),
        "packages of the workspace"
    );
    for (package, edges) in &dependencies_by_package {
        for (name, kind) in edges {
            // Tests may use the simulator; shipped code may not.
            let ours = name.starts_with("ferrosm") && kind != "dev";
            assert!(
                !ours || allowed[package.as_str()].contains(&name.as_str()),
                "{package} must not depend on {name} ({kind})"
            );
        }
    }
}

/// CONTRIBUTING.md lists the environment variables that change what tests do: each one that test
/// code or a script reads, and no other. Users' variables are those of the program.
#[test]
fn variables_of_tests_are_documented() {
    let of_program = variables_in(&["daemon/src", "sim/attach/src", "sim/server/src"]);
    let mut used = variables_in(&[
        "tests",
        "scripts",
        "mad/tests",
        "sm-core/tests",
        "routing/tests",
    ]);
    used.extend(variables_in(&[
        "sim/attach/tests",
        "replication/tests",
        "daemon/tests",
        "sim/fabric/tests",
    ]));
    let contributing = fs::read_to_string(workspace().join("CONTRIBUTING.md"))
        .unwrap_or_else(|error| panic!("CONTRIBUTING.md: {error}"));
    let documented: BTreeSet<String> = contributing
        .lines()
        .filter(|line| line.starts_with("| `FERROSM_"))
        .flat_map(|line| variable_names(line.split('|').nth(1).unwrap_or_default()))
        .collect();
    let missing: Vec<_> = used
        .difference(&documented)
        .filter(|name| !of_program.contains(*name))
        .collect();
    assert!(missing.is_empty(), "not in CONTRIBUTING.md: {missing:?}");
    let unused: Vec<_> = documented.difference(&used).collect();
    assert!(
        unused.is_empty(),
        "in CONTRIBUTING.md, but not read: {unused:?}"
    );
}

/// The variables whose names occur in the files of these folders.
fn variables_in(folders: &[&str]) -> BTreeSet<String> {
    let listed = Command::new("git")
        .arg("ls-files")
        .args(folders)
        .current_dir(workspace())
        .output()
        .unwrap_or_else(|error| panic!("git ls-files: {error}"));
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .filter_map(|name| fs::read_to_string(workspace().join(name)).ok())
        .flat_map(|text| variable_names(&text))
        .collect()
}

/// The names in a text that have the prefix of ferrosm's variables.
fn variable_names(text: &str) -> Vec<String> {
    const PREFIX: &str = "FERROSM_";
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    text.split(|c| !is_part(c))
        .filter(|word| word.len() > PREFIX.len() && word.starts_with(PREFIX))
        .map(str::to_owned)
        .collect()
}

/// Without the feature `simulator` the program links no crate of the folder `sim`.
#[test]
fn the_simulator_is_optional() {
    let linked = |features: &[&str]| -> BTreeSet<String> {
        let tree = ["tree", "-p", "ferrosm", "-e", "normal", "--prefix", "none"];
        let lines = cargo(&[&tree[..], features].concat());
        let names = lines.lines().filter_map(|line| line.split(' ').next());
        names
            .filter(|name| name.starts_with("ferrosm-"))
            .map(str::to_owned)
            .collect()
    };
    let with = linked(&[]);
    let without = linked(&["--no-default-features"]);
    let optional: Vec<&String> = with.difference(&without).collect();
    assert_eq!(
        optional,
        ["ferrosm-channel", "ferrosm-sim", "ferrosm-sim-server"],
        "{without:?}"
    );
}

/// Within a crate, files import each other in one direction only.
#[test]
fn modules_import_each_other_without_cycles() {
    let mut results = Vec::new();
    for name in CRATES {
        let krate = Crate::read(&workspace(), &workspace().join(name).join("src/lib.rs"));
        results.extend(krate.cycles());
    }
    assert_none(&results);
}

/// The files and folders of a folder import each other in one direction only, by the paths that a
/// reader sees: a re-export counts as part of its folder, except in `lib.rs` and in the folders
/// that contain the reader.
#[test]
fn rooms_import_each_other_without_cycles() {
    for name in CRATES {
        let krate = Crate::read(&workspace(), &workspace().join(name).join("src/lib.rs"));
        assert_none(&krate.room_cycles());
    }
}

/// `cargo run` in the root, the README's first command, finds exactly one program.
#[test]
fn cargo_run_has_one_program() {
    let text = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let array_of = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let default = array_of(&metadata["workspace_default_members"]);
    let packages = array_of(&metadata["packages"]);
    let default_packages = packages.iter().filter(|p| default.contains(&p["id"]));
    let targets = default_packages.flat_map(|package| array_of(&package["targets"]));
    let programs: Vec<String> = targets
        .filter(|target| array_of(&target["kind"]).iter().any(|kind| kind == "bin"))
        .map(|target| target["name"].to_string())
        .collect();
    assert_eq!(programs, ["\"ferrosm\""]);
}

/// Only the manager names two components of the core.
#[test]
fn components_do_not_name_each_other() {
    assert_none(&components::violations(&workspace().join("sm-core/src")));
}

/// A part of a node has one component that changes it.
#[test]
fn parts_of_nodes_have_one_writer() {
    assert_none(&components::foreign_writes(
        &workspace().join("sm-core/src"),
    ));
}

/// Rules 14 to 16 of CONTRIBUTING.md: bindings, parameters, and indices that do not fit.
#[test]
fn bindings_and_indices_are_plain() {
    let found: Vec<String> = CRATES
        .iter()
        .flat_map(|name| bindings::unexpected(&workspace(), name))
        .collect();
    assert_none(&found);
}

/// `mad` has no mandatory dependencies. The core crates use no runtime and no C library, and
/// serialisation only where permitted.
#[test]
fn external_crates_are_used_where_listed() {
    const FORBIDDEN_IN_SANS_IO: &[&str] = &[
        "tokio",
        "libc",
        "anyhow",
        "libloading",
        "clap",
        "toml",
        "rand",
    ];
    let dependencies_by_package = dependencies();
    let normal = |package: &str| -> Vec<String> {
        let edges = dependencies_by_package[package]
            .iter()
            .filter(|(_, kind)| kind == "normal");
        edges.map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(normal("ferrosm-mad"), Vec::<String>::new());
    let forbidden: [(&str, &[&str]); 10] = [
        ("ferrosm-api", FORBIDDEN_IN_SANS_IO),
        (
            "ferrosm-routing",
            &["tokio", "postcard", "libc", "anyhow", "tracing", "rand"],
        ),
        ("ferrosm-fabric", FORBIDDEN_IN_SANS_IO),
        ("ferrosm-sa", FORBIDDEN_IN_SANS_IO),
        ("ferrosm-core", FORBIDDEN_IN_SANS_IO),
        ("ferrosm-recording", FORBIDDEN_IN_SANS_IO),
        (
            "ferrosm-opensm-compat",
            &[
                "tokio", "libc", "anyhow", "clap", "serde", "toml", "tracing",
            ],
        ),
        (
            "ferrosm-sim",
            &["tokio", "libc", "anyhow", "petgraph", "clap"],
        ),
        (
            "ferrosm-replication",
            &[
                "anyhow",
                "clap",
                "toml",
                "libc",
                "redb",
                "tracing-subscriber",
            ],
        ),
        (
            "ferrosm-store",
            &["anyhow", "clap", "toml", "libc", "tracing-subscriber"],
        ),
    ];
    for (package, forbidden) in forbidden {
        for (name, kind) in &dependencies_by_package[package] {
            let shipped = kind == "normal" || kind == "optional";
            assert!(
                !shipped || !forbidden.contains(&name.as_str()),
                "{package} must not depend on {name}"
            );
        }
    }
}

/// `docs/compliance.md` names tests as `file: function, function`, and source files; each must
/// exist.
#[test]
fn compliance_names_existing_tests() {
    let root = workspace();
    let table = fs::read_to_string(root.join("docs/compliance.md")).unwrap();
    let mut named = 0;
    let mut missing = Vec::new();
    // Text between backquotes is every second piece.
    for piece in table.split('`').skip(1).step_by(2) {
        let Some((file, functions)) = piece.split_once(".rs: ") else {
            let in_crate = CRATES
                .iter()
                .any(|name| piece.starts_with(&format!("{name}/")));
            let is_path = in_crate && !piece.contains([' ', '*']);
            if is_path && !root.join(piece).exists() {
                missing.push(piece.to_owned());
            }
            continue;
        };
        let text = fs::read_to_string(root.join(format!("{file}.rs"))).unwrap_or_default();
        for function in functions.split(", ") {
            named += 1;
            if !text.contains(&format!("fn {function}(")) {
                missing.push(format!("{file}.rs: {function}"));
            }
        }
    }
    assert!(
        named > 20,
        "only {named} tests named: has the table format changed?"
    );
    assert_none(&missing);
}
