//! `ferrosm bugreport`: `tar` unpacks it, `tshark` reads its captures, `ferrosm replay` replays its
//! recording, and none of its bytes are a key.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::{Path, PathBuf};

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Launch, Signal};

use crate::api::{GUARD, ask, json, start, state_dir, wait_for_health};
use crate::rings::{packets_in, private_files};

const M_KEY: u64 = 0xC0FF_EE12_3456_789A;
const SM_KEY: u64 = 0xFACE_B00C_1357_9BDF;

/// Starts a service with keys, which has seen a link go down.
fn service_with_keys(sim: &FabricServer) -> (ferrosm_tests::programs::process::Running, String) {
    let config = sim.dir().join("keys.toml");
    let text = format!(
        "[subnet]\nm-key = \"{M_KEY:#x}\"\nm-key-protect-bits = 2\n[sm]\nsm-key = \"{SM_KEY:#x}\"\n[files]\nrings-mib = 64\n"
    );
    fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    let sm = start(sim, None, "sm", &["--config", &config]);
    wait_for_health(sim, "sm", 0, &["OK"]);
    sim.execute("cut \"leaf-0-0\"[3]");
    wait_for_health(sim, "sm", 1, &["47 links"]);
    (sm, config)
}

/// Writes and unpacks a report; returns its directory and what the command printed.
fn unpacked(sim: &FabricServer, name: &str, args: &[&str]) -> (PathBuf, String) {
    let file = sim
        .dir()
        .join(format!("{name}.tar.gz"))
        .display()
        .to_string();
    let args = [&["bugreport", "--output", &file], args].concat();
    let printed = ask(sim, "sm", &args).expect_success().stdout;
    let dir = sim.dir().join(name);
    fs::create_dir(&dir).unwrap();
    let listed = Launch::new("tar").args(&["tzf", &file]).start(sim.dir());
    let listed = listed.wait(GUARD).expect_success().stdout;
    assert!(
        listed
            .lines()
            .all(|name| name.starts_with("ferrosm-bugreport/"))
    );
    let unpack = Launch::new("tar").args(&["xzf", &file]);
    drop(unpack.start(&dir).wait(GUARD).expect_success());
    (dir.join("ferrosm-bugreport"), printed)
}

/// All files below a directory, with their contents; compressed ones as they are when unpacked.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
            continue;
        }
        if path.extension().is_some_and(|extension| extension == "gz") {
            let plain = path.with_extension("plain");
            let script = format!("zcat {} > {}", path.display(), plain.display());
            let unpack = Launch::new("sh").args(&["-c", &script]).start(dir);
            drop(unpack.wait(GUARD).expect_success());
            all.push((plain.clone(), fs::read(plain).unwrap()));
        }
        all.push((path.clone(), fs::read(path).unwrap()));
    }
    all
}

/// Whether any file has one of these byte strings.
fn find(files: &[(PathBuf, Vec<u8>)], needles: &[Vec<u8>]) -> Option<(PathBuf, Vec<u8>)> {
    let has = |bytes: &[u8], needle: &[u8]| bytes.windows(needle.len()).any(|w| w == needle);
    files.iter().find_map(|(path, bytes)| {
        let found = needles.iter().find(|needle| has(bytes, needle))?;
        Some((path.clone(), found.clone()))
    })
}

/// A key in binary and as text, in both byte orders.
fn forms(key: u64) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for key in [key, key.swap_bytes()] {
        forms.push(key.to_be_bytes().to_vec());
        forms.push(format!("{key:016x}").into_bytes());
        forms.push(format!("{key:016X}").into_bytes());
        forms.push(key.to_string().into_bytes());
    }
    forms
}

#[test]
fn bug_report_has_everything_but_keys() {
    let sim = FabricServer::shape("fat-tree:4");
    let (sm, _) = service_with_keys(&sim);
    let state = PathBuf::from(state_dir(&sim, "sm"));
    let (dir, printed) = unpacked(&sim, "report", &[]);
    assert!(printed.contains("without keys"), "{printed}");
    assert!(!printed.contains("missing:"), "{printed}");
    let readme = fs::read_to_string(dir.join("README")).unwrap();
    for file in [
        "version.txt",
        "config.toml",
        "answers/status.json",
        "answers/health.json",
        "answers/sms.json",
        "answers/nodes.json",
        "answers/links.json",
        "answers/alarms.json",
        "answers/events.json",
        "answers/changes.json",
        "tables/opensm-lfts.dump",
        "state.json",
        "state-directory.txt",
        "audit.jsonl",
        "changes.jsonl",
        "rings/mads-00000001.pcapng",
        "rings/run-00000001.recording.gz",
    ] {
        assert!(readme.contains(&format!("{file}: ")), "{file}: {readme}");
        assert!(dir.join(file).exists(), "{file}");
    }
    let config = fs::read_to_string(dir.join("config.toml")).unwrap();
    assert!(config.contains("m-key is set; not shown"), "{config}");
    let health = fs::read_to_string(dir.join("answers/health.json")).unwrap();
    assert!(health.contains("leaf-0-0/3"), "{health}");

    // The files of the service have the keys, the report has not.
    let keys = [forms(M_KEY), forms(SM_KEY)].concat();
    let mads = private_files(&state.join("rings"), "mads-");
    let on_disk = vec![(mads[0].clone(), fs::read(&mads[0]).unwrap())];
    assert!(find(&on_disk, &forms(M_KEY)).is_some());
    assert_eq!(find(&contents(&dir), &keys), None);

    assert!(packets_in(sim.dir(), &dir.join("rings/mads-00000001.pcapng")) > 500);
    let replay = |file: &Path| {
        let file = file.display().to_string();
        sim.ferrosm(&["replay", &file]).expect_success().stdout
    };
    let of_report = replay(&dir.join("rings/run-00000001.recording.gz"));
    assert!(
        of_report.contains("all outputs are those recorded"),
        "{of_report}"
    );
    // The recording of the service continues; what the report has is its begin.
    drop(sm.stop(Signal::Kill, GUARD));
    let of_service = replay(&state.join("rings/run-00000001.recording.gz"));
    let events = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| line.contains("link ") || line.contains("sweep"));
        lines.map(str::to_owned).collect()
    };
    let expected = events(&of_service);
    let found = events(&of_report);
    assert!(found.len() > 2, "{of_report}");
    assert_eq!(found[..], expected[..found.len()]);
}

#[test]
fn anonymous_reports_and_those_without_a_service_say_what_is_missing() {
    let sim = FabricServer::shape("fat-tree:4");
    let (sm, config) = service_with_keys(&sim);
    let nodes = json(&sim, "sm", &["nodes"]);
    let (dir, printed) = unpacked(&sim, "anonymous", &["--anonymize", "--since", "1h"]);
    assert!(printed.contains("missing: recording"), "{printed}");
    let files = contents(&dir);
    let mut hidden = Vec::new();
    for node in nodes["items"].as_array().unwrap() {
        let guid = node["guid"].as_str().unwrap().trim_start_matches("0x");
        let number = u64::from_str_radix(guid, 16).unwrap();
        hidden.push(format!("{number:016x}").into_bytes());
        hidden.push(number.to_be_bytes().to_vec());
        // Kinds such as `host` are words of the report; names have a number.
        hidden.push(format!("\"{}\"", node["name"].as_str().unwrap()).into_bytes());
    }
    hidden.push(b"leaf-0-0".to_vec());
    assert_eq!(find(&files, &hidden), None);
    let text = fs::read_to_string(dir.join("answers/links.json")).unwrap();
    assert!(
        text.contains("name-1") && text.contains("0xfefefe"),
        "{text}"
    );

    drop(sm.stop(Signal::Terminate, GUARD));
    let (dir, printed) = unpacked(&sim, "offline", &[]);
    assert!(
        printed.contains("missing: answers of the service: no service runs"),
        "{printed}"
    );
    for file in [
        "tables/opensm-lfts.dump",
        "state.json",
        "rings/run-00000001.recording.gz",
    ] {
        assert!(dir.join(file).exists(), "{file}: {printed}");
    }
    let keys = [forms(M_KEY), forms(SM_KEY)].concat();
    assert_eq!(find(&contents(&dir), &keys), None);
    let again = ask(&sim, "sm", &["bugreport", "--output", &config]);
    assert_eq!(again.status.code(), Some(1));
    assert!(
        again.stderr.contains("An existing file is not replaced"),
        "{}",
        again.describe()
    );
}
