//! The program as a service: signals, reload, state directory lock, exit.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{Scratch, program, run_ferrosm};

/// Exit status of the program, which must end within a limit.
fn exit_status(mut child: Child) -> Option<i32> {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(20) {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("the program did not end");
}

/// Starts `demo`; its standard error is piped.
fn demo(args: &[&str]) -> Child {
    program(&[&["demo", "ring:3,1"], args].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// Reads standard error until a line contains `expected`; returns that line.
fn wait_for(lines: &mut impl BufRead, expected: &str) -> String {
    let mut output = String::new();
    loop {
        let mut line = String::new();
        assert!(
            lines.read_line(&mut line).unwrap() > 0,
            "no line with `{expected}`:\n{output}"
        );
        output.push_str(&line);
        if line.contains(expected) {
            return line;
        }
    }
}

/// A demo has an API in a temporary directory, which it logs and removes.
#[test]
fn demo_answers_commands() {
    let mut child = demo(&[]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let line = wait_for(&mut err, "ferrosm status --state-dir ");
    let command = line.split("--state-dir ").nth(1).unwrap();
    let dir = command.trim().trim_matches('"').to_owned();
    wait_for(&mut err, "subnet up");
    let (code, out, _) = run_ferrosm(&["health", "--state-dir", &dir]);
    assert_eq!(code, Some(0), "{out}");
    let drain = &["drain", "switch-1", "--for", "1h", "--dry-run"];
    let (_, out, message) = run_ferrosm(&[drain, &["--state-dir", &dir][..]].concat());
    assert!(
        message.contains("host-1") || out.contains("host-1"),
        "{out}{message}"
    );
    signal(&child, "TERM");
    assert_eq!(exit_status(child), Some(0));
    assert!(!std::path::Path::new(&dir).exists());
    let (code, _, message) = run_ferrosm(&["status", "--state-dir", &dir]);
    assert_eq!(code, Some(69), "{message}");
}

/// Reload of an invalid file, then of a valid one, then SIGTERM.
#[test]
fn invalid_reload_leaves_the_configuration_in_force() {
    let dir = Scratch::new("reload");
    let file = dir.file("f.toml", "[sweep]\ninterval = \"10s\"\n");
    let mut child = demo(&["--config", &file]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "sweep complete");
    dir.file("f.toml", "[sweep]\ninterval = 5\n");
    signal(&child, "HUP");
    let line = wait_for(&mut err, "configuration error");
    assert!(
        line.contains("line=2") && line.contains("column=12"),
        "{line}"
    );
    wait_for(&mut err, "configuration rejected");
    dir.file("f.toml", "[sweep]\ninterval = \"5s\"\n[port]\nca = \"x\"\n");
    signal(&child, "HUP");
    let line = wait_for(&mut err, "configuration applied");
    assert!(line.contains("sweep.interval"), "{line}");
    let line = wait_for(&mut err, "needs a restart");
    assert!(line.contains("port.ca"), "{line}");
    wait_for(&mut err, "sweep complete");
    signal(&child, "TERM");
    wait_for(&mut err, "stopping");
    assert_eq!(exit_status(child), Some(0));
}

/// Without a configuration file, a reload reads the input files that flags name; an invalid one
/// leaves all settings in force.
#[test]
fn input_files_of_flags_are_reread_without_a_configuration_file() {
    let dir = Scratch::new("reread");
    let default = "Default=0x7fff : ALL=full;\n";
    let with_storage = [default, "storage=0x10 : ALL=full;\n"].concat();
    let partitions = dir.file("partitions.conf", &with_storage);
    let qos = dir.file("qos-policy.conf", "qos-ulps\ndefault: 0\nend-qos-ulps\n");
    let routes = dir.file("prefix-routes.conf", "* 0x7\n");
    let mut child = demo(&[
        "-P",
        &partitions,
        "-Y",
        &qos,
        "--prefix-routes-file",
        &routes,
    ]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "sweep complete");
    let changes = [
        (
            "partitions.conf",
            "Default=0x7fff : ALL=full;\nstorage=none : ALL;\n",
            default,
            "partition configuration changed",
        ),
        (
            "qos-policy.conf",
            "qos-ulps\ndefault: none\nend-qos-ulps\n",
            "qos-ulps\ndefault: 1\nend-qos-ulps\n",
            "QoS policy or prefix routes changed",
        ),
        (
            "prefix-routes.conf",
            "* 0x7\n* none\n",
            "* 0x8\n",
            "QoS policy or prefix routes changed",
        ),
    ];
    for (name, invalid, valid, change) in changes {
        dir.file(name, invalid);
        signal(&child, "HUP");
        let line = wait_for(&mut err, "configuration");
        let expected = ["configuration error", name, "line=2"];
        assert!(expected.iter().all(|text| line.contains(text)), "{line}");
        wait_for(&mut err, "configuration rejected");
        dir.file(name, valid);
        signal(&child, "HUP");
        wait_for(&mut err, change);
        wait_for(&mut err, "configuration reloaded");
    }
    signal(&child, "HUP");
    wait_for(&mut err, "configuration unchanged");
    signal(&child, "TERM");
    assert_eq!(exit_status(child), Some(0));
}

/// A service without any file to read sweeps at SIGHUP.
#[test]
fn reload_without_files_sweeps() {
    let mut child = demo(&[]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "sweep complete");
    signal(&child, "HUP");
    wait_for(&mut err, "no configuration file to reload");
    wait_for(&mut err, "sweep complete");
    signal(&child, "TERM");
    assert_eq!(exit_status(child), Some(0));
}

/// Waits until the program reads a named pipe.
fn open_when_read(child: &mut Child, pipe: &str) -> File {
    const NONBLOCK: i32 = 0o4000;
    let since = Instant::now();
    loop {
        // Fails as long as the pipe has no reader.
        let mut open = File::options();
        if let Ok(pipe) = open.write(true).custom_flags(NONBLOCK).open(pipe) {
            return pipe;
        }
        let exit_status = child.try_wait().unwrap();
        assert!(exit_status.is_none(), "the program ended: {exit_status:?}");
        let timed_out = since.elapsed() > Duration::from_secs(20);
        assert!(!timed_out, "the program does not read {pipe}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Signals that arrive while the program reads its configuration take effect after startup.
#[test]
fn early_signals_take_effect_after_startup() {
    let dir = Scratch::new("early");
    let pipe = dir.path("f.toml");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let start = || demo(&["--config", &pipe]);
    // The program waits for the end of the file.
    let mut child = start();
    let writer = open_when_read(&mut child, &pipe);
    signal(&child, "TERM");
    drop(writer);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "stopping");
    assert_eq!(exit_status(child), Some(0));

    let mut child = start();
    let writer = open_when_read(&mut child, &pipe);
    signal(&child, "HUP");
    std::fs::remove_file(&pipe).unwrap();
    dir.file("f.toml", "[sm]\npriority = 3\n");
    drop(writer);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    // Only a reload reads the file again.
    let line = wait_for(&mut err, "configuration applied");
    assert!(line.contains("sm.priority"), "{line}");
    signal(&child, "TERM");
    assert_eq!(exit_status(child), Some(0));
}

#[test]
fn state_directory_is_locked() {
    let dir = Scratch::new("lock");
    let state = dir.path("state");
    let mut child = demo(&["--state-dir", &state]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "sweep complete");
    let (code, _, second) = run_ferrosm(&["demo", "ring:3,1", "--once", "--state-dir", &state]);
    assert_eq!(code, Some(1));
    let pid = child.id();
    assert!(
        second.contains(&format!("another ferrosm (PID {pid}) uses state directory")),
        "{second}"
    );
    let (code, shown, err) = run_ferrosm(&["state", "show", "--state-dir", &state]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        shown.starts_with(&format!("in use by ferrosm (PID {pid})")),
        "{shown}"
    );
    signal(&child, "INT");
    assert_eq!(exit_status(child), Some(0));
}
