//! The program as a process: exit status, messages for invalid input, files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::harness::{Scratch, run_ferrosm};

#[test]
fn all_configuration_errors_are_reported_with_position() {
    let dir = Scratch::new("config");
    let file = dir.file("f.toml", "[sm]\npriorty = 3\n\n[lids]\nlmc = 8\n");
    for args in [
        &["run", "--config", &file][..],
        &["demo", "--once", "--config", &file],
        &["config", "check", &file],
        &["config", "print", &file],
    ] {
        let (code, out, err) = run_ferrosm(args);
        assert_eq!((code, out.as_str()), (Some(78), ""), "{args:?}");
        // The key with its position and line, and the correct one.
        for fact in [
            "f.toml:2:1",
            "unknown key `priorty` in [sm]: did you mean `priority`?",
            "priorty = 3",
            "f.toml:5:7",
            "lids.lmc: ",
        ] {
            assert!(err.contains(fact), "{fact}: {err}");
        }
        assert!(err.ends_with("rejected: 2 errors\n"), "{err}");
        assert!(!err.contains("panicked"), "{err}");
    }
}

#[test]
fn missing_configuration_file_is_a_configuration_error() {
    let (code, _, err) = run_ferrosm(&["run", "--config", "no-such-file.toml"]);
    assert_eq!(code, Some(78));
    assert!(err.contains("cannot read file: "), "{err}");
    assert!(err.contains("no-such-file.toml"), "{err}");
}

#[test]
fn printed_configuration_is_valid() {
    let dir = Scratch::new("print");
    for kind in ["--default", "--effective"] {
        let (code, out, _) = run_ferrosm(&["config", "print", kind]);
        assert_eq!(code, Some(0));
        let (code, _, err) = run_ferrosm(&["config", "check", &dir.file("printed.toml", &out)]);
        assert_eq!(code, Some(0), "{err}");
    }
}

#[test]
fn invalid_fabric_file_is_reported_with_its_line() {
    let dir = Scratch::new("topology");
    let file = dir.file(
        "x.net",
        "Switch 2 \"S-1\"\n[1] \"H-1\"[1]\n\nCa 1 \"H-1\"\n[1] \"S-1\"[2]\n",
    );
    for args in [
        &["topology", "--from", &file][..],
        &["route", "--from", &file],
        &["demo", &file, "--once"],
    ] {
        let (code, out, err) = run_ferrosm(args);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{args:?}");
        assert!(err.contains("x.net: line 2, column "), "{err}");
    }
}

#[test]
fn usage_errors_have_their_own_exit_status() {
    let (code, _, err) = run_ferrosm(&["route", "--from", "fat-tree:4", "--engine", "updm"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("did you mean `updn`?"), "{err}");
}

/// A text that is neither a file nor a topology: a usage error of one line, and an example.
#[test]
fn unknown_fabric_is_a_usage_error_with_an_example() {
    for (text, description, example) in [
        ("torus:4,x", "Y is `x`", "torus:4,4,3,2"),
        ("fat-tree:5", "must be even", "fat-tree:8"),
        ("fat-tree:4;foo", "unknown option `foo`", "fat-tree:8;sharp"),
        ("torus", "torus:X,Y[,Z][,H]", "torus:4,4,3,2"),
        ("pyramid:3", "unknown topology `pyramid`", "fat-tree:8"),
        ("fatree:8", "did you mean `fat-tree`?", "fat-tree:8"),
        ("nowhere.net", "there is no file nowhere.net", "fat-tree:8"),
        ("nowhere", "no file `nowhere`", "fat-tree:8"),
        ("", "empty", "fat-tree:8"),
    ] {
        for args in [
            &["route", "--from", text][..],
            &["explain", "--from", text],
            &["topology", "--from", text],
            &["demo", "--once", text],
            &["sim", text],
        ] {
            let (code, out, err) = run_ferrosm(args);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {err}");
            let lines: Vec<&str> = err.lines().collect();
            assert!(
                lines.len() == 2
                    && lines[0].starts_with("ferrosm: ")
                    && lines[0].contains(description),
                "{args:?}: {err}"
            );
            assert!(lines[1].contains(example), "{args:?}: {err}");
        }
    }
}

/// A list with `no_fallback` only: a usage error on the command line, a configuration error with
/// its line in a file.
#[test]
fn engine_list_without_an_engine_is_rejected() {
    for args in [
        &["route", "--from", "star:3"][..],
        &["explain", "--from", "star:3"],
        &["demo", "star:3", "--once"],
        &["run", "--once"],
    ] {
        let (code, out, err) = run_ferrosm(&[args, &["--engine", "no_fallback"]].concat());
        assert_eq!((code, out.as_str()), (Some(2), ""), "{args:?}: {err}");
        assert!(
            err.starts_with("ferrosm: --engine names no engine"),
            "{err}"
        );
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    let dir = Scratch::new("no-engine");
    let file = dir.file("f.toml", "[routing]\nengines = [\"no_fallback\"]\n");
    let (code, _, err) = run_ferrosm(&["demo", "star:3", "--once", "--config", &file]);
    assert_eq!(code, Some(78), "{err}");
    assert!(err.contains("f.toml:2:11"), "{err}");
    assert!(err.contains("routing.engines: names no engine"), "{err}");
}

/// Skipped on hosts with an InfiniBand port.
#[test]
fn missing_port_error_names_the_demo() {
    let (code, out, _) = run_ferrosm(&["ports", "--local", "--json"]);
    if code == Some(0) && out.contains("\"usable\": true") {
        println!("skipped: this host has an InfiniBand port");
        return;
    }
    let (code, out, err) = run_ferrosm(&["run", "--once"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.starts_with("ferrosm: "), "{err}");
    // libibumad may be missing as well, with another hint.
    assert!(
        err.contains("ferrosm demo") || err.contains("libibumad3"),
        "{err}"
    );
}

#[test]
fn demo_comes_up_and_prints_its_report() {
    let (code, out, err) = run_ferrosm(&["demo", "--once"]);
    assert_eq!(code, Some(0), "{err}");
    for text in [
        "the subnet is up",
        "128 channel adapters",
        "credit loops",
        "LinearForwardingTable",
    ] {
        assert!(out.contains(text), "no `{text}` in\n{out}");
    }
    let (code, out, _) = run_ferrosm(&["demo", "torus:3,3,1", "--once", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &report["clean"], &report["switches"]),
        (Some(0), &true.into(), &9.into())
    );
}

#[test]
fn lids_persist_over_restarts() {
    let dir = Scratch::new("state");
    let state = dir.path("state");
    let report = |shape: &str| -> serde_json::Value {
        let (code, out, err) =
            run_ferrosm(&["demo", shape, "--once", "--json", "--state-dir", &state]);
        assert_eq!(code, Some(0), "{err}");
        serde_json::from_str(&out).unwrap()
    };
    let lids = || {
        let (code, out, err) = run_ferrosm(&["state", "export", "--state-dir", &state]);
        assert_eq!(code, Some(0), "{err}");
        let lines = out
            .lines()
            .filter(|l| l.starts_with("{\"record\":{\"lid\":"));
        (lines.map(str::to_owned).collect::<Vec<_>>(), out)
    };
    let first = report("ring:5,2");
    let (persisted, _) = lids();
    let second = report("ring:5,2");
    assert_eq!(
        (&first["top_lid"], &second["top_lid"]),
        (&15.into(), &15.into())
    );
    let (valid_lids, all_lids) = lids();
    assert_eq!((valid_lids.len(), valid_lids), (15, persisted));
    // The LIDs come from the records.
    let changed_lids = all_lids.replace("\"lid\":15,", "\"lid\":1000,");
    assert_ne!(changed_lids, all_lids);
    dir.file("moved.jsonl", &changed_lids);
    let import = [
        "state",
        "import",
        &dir.path("moved.jsonl"),
        "--state-dir",
        &state,
    ];
    let (code, _, err) = run_ferrosm(&import);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("already has") && err.contains("--replace"),
        "{err}"
    );
    let (code, _, err) = run_ferrosm(&[&import[..], &["--replace"]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(report("ring:5,2")["top_lid"], 1000);
    dir.file("state/store.redb", "{ broken");
    assert_eq!(report("ring:5,2")["clean"], true);
    assert_eq!(
        std::fs::read_to_string(dir.path("state/store.redb.broken-1")).unwrap(),
        "{ broken"
    );
}

/// `show` prints imported LIDs as a table and as JSON, and modifies nothing.
#[test]
fn imported_lids_are_shown() {
    let dir = Scratch::new("imported-state");
    let state = dir.path("state");
    let show = |json: bool| {
        let args = ["state", "show", "--state-dir", &state, "--json"];
        let (code, out, err) = run_ferrosm(&args[..if json { 5 } else { 4 }]);
        assert_eq!(code, Some(0), "{err}");
        out
    };
    std::fs::create_dir(&state).unwrap();
    assert!(show(false).starts_with("no persisted state\n"));
    let lids = dir.file("guid2lid", "0x0000000000000007 0x0010 0x0013\n");
    let (code, _, err) = run_ferrosm(&["state", "import", &lids, "--state-dir", &state]);
    assert_eq!(code, Some(0), "{err}");
    let store = || std::fs::read(Path::new(&state).join("store.redb")).unwrap();
    let before = store();
    let shown = show(false);
    assert!(
        shown.contains("1 port with LIDs, 0 multicast groups") && shown.contains("16-19"),
        "{shown}"
    );
    let document: serde_json::Value = serde_json::from_str(&show(true)).unwrap();
    assert_eq!(
        (&document["sequence"], &document["lids"][0]["lid"]),
        (&1.into(), &16.into())
    );
    assert!(store() == before, "the store was changed");
}

/// An unreadable store is reported and stays in place.
#[test]
fn unreadable_store_is_reported_and_left_in_place() {
    let dir = Scratch::new("unread-state");
    let state = dir.path("state");
    std::fs::create_dir(&state).unwrap();
    dir.file("state/store.redb", "{ broken");
    let saved = dir.path("saved.jsonl");
    for command in [
        &["show"][..],
        &["show", "--json"],
        &["export"],
        &["export", &saved],
    ] {
        let (code, out, err) =
            run_ferrosm(&[&["state", "--state-dir", &state][..], command].concat());
        assert_eq!((code, out.as_str()), (Some(1), ""), "{command:?}");
        assert!(
            err.contains("store.redb: ") && err.contains("The file is unchanged"),
            "{err}"
        );
    }
    let files = std::fs::read_dir(&state).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["store.redb"]);
    assert!(!Path::new(&saved).exists());
    // `import` renames it with a warning.
    let lids = dir.file("guid2lid", "0x0000000000000007 0x0010 0x0010\n");
    let (code, _, err) = run_ferrosm(&["state", "import", &lids, "--state-dir", &state]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("unreadable store renamed"), "{err}");
}

/// Input files that the configuration names are not read.
#[test]
fn state_commands_do_not_read_input_files() {
    let dir = Scratch::new("state-config");
    let path = |name: &str| dir.path(name);
    std::fs::create_dir(dir.path("state")).unwrap();
    dir.file("partitions.conf", "invalid\n");
    let file = |name: &str| {
        let text = format!(
            "[partitions]\nfile = \"partitions.conf\"\n[files]\nstate-dir = {:?}\n",
            path(name)
        );
        dir.file(&format!("{name}.toml"), &text)
    };
    let (state, none) = (file("state"), file("none"));
    assert_eq!(run_ferrosm(&["config", "check", &state]).0, Some(78));
    let run_for = |file: &str, args: &[&str]| run_ferrosm(&[args, &["--config", file]].concat());
    let (code, out, err) = run_for(&state, &["state", "show"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("no persisted state"), "{out}");
    let (code, _, err) = run_for(&none, &["state", "show"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains(&path("none")), "{err}");
    let no_service = format!(
        "no ferrosm service runs with state directory {}",
        path("state")
    );
    for command in ["sweep", "handover", "takeover"] {
        let (code, _, err) = run_for(&state, &[command]);
        assert_eq!(code, Some(69), "{err}");
        assert!(err.contains(&no_service), "{err}");
    }
}

/// The files of several subnets of a host are checked against each other; equal prefixes are a
/// warning.
#[test]
fn files_of_several_subnets_are_checked_together() {
    let dir = Scratch::new("config-several");
    let port = |guid: u8| {
        format!(
            "[port]\nguid = \"{guid:#x}\"\n[files]\nstate-dir = {:?}\n",
            dir.path(&guid.to_string())
        )
    };
    let (a, b) = (dir.file("a.toml", &port(1)), dir.file("b.toml", &port(2)));
    let (code, out, err) = run_ferrosm(&["config", "check", &a, &b]);
    assert_eq!(code, Some(0), "{err}");
    let warning = format!("warning: {b}: subnet.prefix: {a} has 0xfe80000000000000 too: ");
    assert!(out.contains(&warning), "{out}");
    assert!(out.contains(&format!("{a}: no errors\n")), "{out}");
    assert!(
        out.contains(&format!("{b}: no errors, 1 warning\n")),
        "{out}"
    );
    dir.file("b.toml", &port(1));
    let (code, _, err) = run_ferrosm(&["config", "check", &a, &b]);
    assert_eq!(code, Some(78), "{err}");
    assert!(err.contains(&format!("is also used by {a}")), "{err}");
}

#[test]
fn opensm_state_is_imported_completely_or_not_at_all() {
    let dir = Scratch::new("opensm-state");
    let (state, cache) = (dir.path("state"), dir.path("cache"));
    std::fs::create_dir(&cache).unwrap();
    let import = [
        "state",
        "import",
        "--opensm-dir",
        &cache,
        "--state-dir",
        &state,
    ];
    let (code, _, err) = run_ferrosm(&import);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("has none of guid2lid, guid2mkey, neighbors, opensm-sa.dump"),
        "{err}"
    );
    dir.file(
        "cache/guid2lid",
        "0x0000000000000007 0x0010 0x0013\n\n0x8 0x0014 0x0014\n\n",
    );
    dir.file("cache/guid2mkey", "0x7 0x00000000000000ff\n\n0x8\n");
    let (code, _, err) = run_ferrosm(&import);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("cache/guid2mkey:3: 1 words, expected 2: port GUID, M_Key"),
        "{err}"
    );
    assert!(!Path::new(&state).exists(), "nothing was changed");
    dir.file("cache/guid2mkey", "0x7 0x00000000000000ff\n");
    let (code, out, err) = run_ferrosm(&import);
    assert_eq!(
        (code, out.starts_with("3 records imported from ")),
        (Some(0), true),
        "{err}"
    );
    // A directory in use can be read, but not imported into.
    let lock = File::open(dir.path("state/lock")).unwrap();
    lock.lock().unwrap();
    for (command, expected) in [("show", "in use by ferrosm (PID "), ("export", "{")] {
        let (code, out, err) = run_ferrosm(&["state", command, "--state-dir", &state]);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.starts_with(expected), "{out}");
    }
    let (code, _, err) = run_ferrosm(&import);
    assert_eq!(code, Some(1));
    assert!(
        err.starts_with("ferrosm: another ferrosm (PID ") && err.contains("start it again"),
        "{err}"
    );
}

#[test]
fn sim_ctl_help_needs_no_server() {
    let dir = Scratch::new("sim-ctl-help");
    let (code, out, err) = run_ferrosm(&["sim-ctl", "--socket", &dir.path("none"), "help"]);
    assert_eq!(code, Some(0), "{err}");
    for text in ["cut PORT", "judge ", "every TIME N times"] {
        assert!(out.contains(text), "{out}");
    }
}

#[test]
fn usage_of_config_print_separates_default_from_file() {
    let (code, _, err) = run_ferrosm(&["config", "print", "--default", "f.toml"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("ferrosm config print --default\n"), "{err}");
}

#[test]
fn dumps_and_captures_are_written() {
    let dir = Scratch::new("dumps");
    let (dump, capture) = (dir.path("dump"), dir.path("c.pcapng"));
    let (code, _, err) = run_ferrosm(&[
        "demo",
        "ring:4,2",
        "--once",
        "--dump-dir",
        &dump,
        "--capture",
        &capture,
    ]);
    assert_eq!(code, Some(0), "{err}");
    let mut magic = [0; 4];
    File::open(&capture)
        .unwrap()
        .read_exact(&mut magic)
        .unwrap();
    assert_eq!(magic, [0x0A, 0x0D, 0x0D, 0x0A]);
    for name in ["opensm-subnet.lst", "opensm.fdbs", "opensm-lfts.dump"] {
        let text = std::fs::read_to_string(Path::new(&dump).join(name)).unwrap();
        assert!(!text.is_empty() && !text.contains("UNREACHABLE"), "{name}");
    }
}

#[test]
fn topology_output_can_be_read_back() {
    let dir = Scratch::new("roundtrip");
    let (_, first, _) = run_ferrosm(&[
        "topology",
        "--from",
        "fat-tree:4;sharp",
        "--format",
        "ibnet",
    ]);
    let file = dir.file("x.net", &first);
    let (code, second, err) = run_ferrosm(&["topology", "--from", &file, "--format", "ibnet"]);
    assert_eq!((code, first), (Some(0), second), "{err}");
}

/// JSON output and dumps of `route`; the engine `file` reads the dumps.
#[test]
fn offline_routes_are_measured_dumped_and_read_back() {
    let dir = Scratch::new("route");
    let dumps = dir.0.join("dumps").display().to_string();
    let args = [
        "route",
        "--from",
        "fat-tree:4",
        "--engine",
        "minhop,updn",
        "--json",
    ];
    let (code, out, err) = run_ferrosm(&[&args[..], &["--dump-dir", &dumps]].concat());
    assert_eq!(code, Some(0), "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["quality"]["pairs"], 240);
    assert_eq!(document["proof"]["max_hops"], 4);
    assert_eq!(
        (&document["vl_usage"]["used"], &document["vls_allowed"]),
        (&1.into(), &8.into())
    );
    let lfts = format!("{dumps}/opensm-lfts.dump");
    let file = [
        "route",
        "--from",
        "fat-tree:4",
        "--engine",
        "file,no_fallback",
    ];
    let (code, out, err) = run_ferrosm(&[&file[..], &["--lfts-file", &lfts]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("file"), "{out}");
    let (code, _, err) = run_ferrosm(&file);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("requires an lfts_file such as opensm-lfts.dump"),
        "{err}"
    );
}

/// Rejected engines are reported in JSON, on standard error, and by the exit status.
#[test]
fn rejected_engines_are_reported_in_json() {
    let args = [
        "route",
        "--from",
        "ring:5,1",
        "--engine",
        "minhop,ftree,no_fallback",
    ];
    let (code, out, err) = run_ferrosm(&[&args[..], &["--json"]].concat());
    assert_eq!(code, Some(1), "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["error"], "no engine can route this fabric");
    assert_eq!(document["rejections"][0]["engine"], "minhop");
    assert_eq!(document["rejections"][0]["kind"], "verification");
    let reason = document["rejections"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("credit loop of 5 channels"), "{reason}");
    assert_eq!(document["rejections"][1]["engine"], "ftree");
    assert_eq!(document["rejections"][1]["kind"], "shape");
    assert_eq!(document["proof"], serde_json::Value::Null);
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines[0], "ferrosm: no engine can route this fabric:");
    assert!(
        lines[1].starts_with("  minhop: ") && lines[2].starts_with("  ftree: "),
        "{err}"
    );
    let (code, out, _) = run_ferrosm(&args);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    // `explain` reports them as well; `error` is null on success.
    let explain = ["explain", "--json", "--from", "ring:5,1", "--engine"];
    let (code, out, _) = run_ferrosm(&[&explain[..], &["minhop,no_fallback"]].concat());
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &document["rejections"][0]["engine"]),
        (Some(1), &"minhop".into())
    );
    let (code, out, _) = run_ferrosm(&[&explain[..], &["minhop,updn"]].concat());
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &document["error"]),
        (Some(0), &serde_json::Value::Null)
    );
    assert_eq!(document["rejections"][0]["engine"], "minhop");
}

/// Two VLs on a torus: the engine `file` reproduces the dumps; with wrong SLs it is rejected.
#[test]
fn vls_are_dumped_and_read_back() {
    let dir = Scratch::new("vls");
    let (one, two) = (dir.path("one"), dir.path("two"));
    let from = ["route", "--from", "torus:4,4,1,1", "--vls", "2", "--engine"];
    let (code, _, err) =
        run_ferrosm(&[&from[..], &["nue,no_fallback", "--dump-dir", &one]].concat());
    assert_eq!(code, Some(0), "{err}");
    let files = [
        "opensm-lfts.dump",
        "opensm-sl2vl.dump",
        "opensm-path-sl.dump",
    ];
    let [lfts, sl2vl, path_sl] = files.map(|f| format!("{one}/{f}"));
    let file = [
        "file,no_fallback",
        "--lfts-file",
        &lfts,
        "--sl2vl-file",
        &sl2vl,
    ];
    let file = [&from[..], &file].concat();
    let arguments = ["--path-sl-file", &path_sl, "--dump-dir", &two];
    let (code, _, err) = run_ferrosm(&[&file[..], &arguments].concat());
    assert_eq!(code, Some(0), "{err}");
    let read = |dir: &str, file: &str| std::fs::read_to_string(format!("{dir}/{file}")).unwrap();
    for name in files {
        assert!(read(&one, name) == read(&two, name), "{name}");
    }
    let sls = read(&one, files[2]).replace(" : 1\n", " : 0\n");
    let invalid = dir.file("spoiled", &sls);
    let (code, _, err) = run_ferrosm(&[&file[..], &["--path-sl-file", &invalid]].concat());
    assert_eq!(code, Some(1));
    assert!(err.contains("credit loop of "), "{err}");
}

/// An invalid input file is a configuration error: status 78, with line and column.
#[test]
fn invalid_input_file_is_reported_with_position() {
    let dir = Scratch::new("input-file");
    let roots = dir.file("roots", "0x1\nspine1\n");
    let (code, out, err) =
        run_ferrosm(&["route", "--from", "fat-tree:4", "--root-guid-file", &roots]);
    assert_eq!((code, out.as_str()), (Some(78), ""), "{err}");
    assert!(err.contains("roots:2:1"), "{err}");
    assert!(err.contains("invalid GUID `spine1`"), "{err}");
    let config = dir.file("f.toml", "[routing]\nroot-guid-file = \"roots\"\n");
    let (code, _, err) = run_ferrosm(&["config", "check", &config]);
    assert_eq!(code, Some(78), "{err}");
    assert!(err.contains("roots:2:1"), "{err}");
}

/// Text and JSON output of `explain`.
#[test]
fn paths_are_explained() {
    let explain =
        |further: &[&str]| run_ferrosm(&[&["explain", "--from", "ring:5,1"][..], further].concat());
    let (code, out, err) = explain(&[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("Routed by "), "{out}");
    let (code, out, err) = explain(&["--engine", "updn", "--json", "6", "7"]);
    assert_eq!(code, Some(0), "{err}");
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(document["paths"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        document["paths"][0]["hops"][0]["in_port"],
        serde_json::Value::Null
    );
    let (code, _, err) = explain(&["6", "unknown"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("is named `unknown`"), "{err}");
}

/// A service that runs can be commanded while its configuration file is invalid.
#[test]
fn commands_name_the_state_directory_if_the_file_is_invalid() {
    let dir = Scratch::new("invalid-for-sweep");
    let file = dir.file("f.toml", "[sm]\npriority = \n");
    let (code, out, err) = run_ferrosm(&["sweep", "--config", &file]);
    assert_eq!((code, out.as_str()), (Some(78), ""), "{err}");
    assert!(err.contains("f.toml:2:"), "{err}");
    assert!(err.contains("--state-dir DIR"), "{err}");
}

#[test]
fn disconnected_fabric_is_reported() {
    let (code, out, err) = run_ferrosm(&["demo", "ring:3,2;components=2", "--once"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("components=2") && out.contains("3 switches, 6 channel adapters"),
        "{err}\n{out}"
    );
    let (code, out, _) = run_ferrosm(&["route", "--from", "ring:3,2;components=2"]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("9 nodes not connected with the others"),
        "{out}"
    );
}

/// Planes have only hosts in common, which do not forward: one plane is routed, with a warning.
#[test]
fn one_plane_is_routed_with_a_warning() {
    let from = ["--from", "fat-tree:4;planes=2"];
    let (code, out, err) = run_ferrosm(&[&["route"][..], &from].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("20 switches, 16 channel adapters, 48 links"),
        "{out}"
    );
    assert!(
        out.contains("only one of 2 disconnected components is routed"),
        "{out}"
    );
    let (_, out, _) = run_ferrosm(&[&["route", "--json"][..], &from].concat());
    let document: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&document["switches"], &document["lids"]),
        (&20.into(), &36.into())
    );
    assert_eq!(document["nodes_outside"], 20);
    assert_eq!(document["warnings"][0]["kind"], "disconnected-components");
    // The other plane is selected by a port.
    let hop_of = |plane: &str, document: &serde_json::Value| {
        let hops = document["paths"][0]["hops"].as_array().unwrap().clone();
        (
            hops[1]["guid"].to_string(),
            hops[0]["out_port"].to_string(),
            plane.to_owned(),
        )
    };
    let first_hop = |port: &str| {
        let arguments = ["--node", port, "host-0-0-0", "host-3-1-1"];
        let (code, out, err) =
            run_ferrosm(&[&["explain", "--json"][..], &from, &arguments].concat());
        assert_eq!(code, Some(0), "{err}");
        hop_of(port, &serde_json::from_str(&out).unwrap())
    };
    let (one, two) = (first_hop("host-0-0-0/1"), first_hop("host-0-0-0/2"));
    assert_eq!((one.1.as_str(), two.1.as_str()), ("1", "2"));
    assert_ne!(one.0, two.0);
    let (code, _, err) = run_ferrosm(&[&["route"][..], &from, &["--node", "unknown"]].concat());
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("is named `unknown`"), "{err}");
    // `demo` serves the plane of its own port.
    let (code, out, err) = run_ferrosm(&["demo", "fat-tree:4;planes=2", "--once"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("20 switches") && err.contains("components=2"),
        "{err}\n{out}"
    );
}

#[test]
fn recording_replays_to_the_same_outputs() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Scratch::new("record");
    let file = dir.path("run.rec");
    let name = file.as_str();
    let run = &["demo", "torus:3,3,1", "--once", "--record", name];
    let (code, _, err) = run_ferrosm(run);
    assert_eq!(code, Some(0), "{err}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let (code, out, err) = run_ferrosm(&["replay", name]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("role changed role=Master"), "{out}");
    assert!(out.ends_with("all outputs are those recorded\n"), "{out}");
    let (code, outputs, _) = run_ferrosm(&["replay", "--outputs", name]);
    assert_eq!(code, Some(0));
    assert!(
        outputs.lines().count() > 10 * out.lines().count(),
        "{outputs}"
    );

    // An existing recording is not replaced.
    let (code, _, err) = run_ferrosm(run);
    assert_eq!(code, Some(1));
    assert!(err.contains("cannot create recording"), "{err}");

    let mut bytes = std::fs::read(&file).unwrap();
    let half = bytes.len() / 2;
    std::fs::write(&file, &bytes[..half]).unwrap();
    let (code, out, err) = run_ferrosm(&["replay", name]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("it was truncated"), "{out}");

    bytes[half] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let (code, out, err) = run_ferrosm(&["replay", name]);
    assert_eq!(code, Some(1), "{out}");
    assert!(!err.contains("panicked"), "{err}");
}
