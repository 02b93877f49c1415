//! The program as a service, from the outside: signals, reload, its directory, clean ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::outside::{Scratch, program, told};

/// Waits for the program's end, not for ever.
fn end_of(mut child: Child) -> Option<i32> {
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

/// The program begins to serve a fabric inside of it; what it says is read from its standard error.
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

/// Reads standard error until a line has the words.
fn wait_for(lines: &mut impl BufRead, words: &str) -> String {
    let mut all = String::new();
    loop {
        let mut line = String::new();
        assert!(
            lines.read_line(&mut line).unwrap() > 0,
            "`{words}` was never said:\n{all}"
        );
        all.push_str(&line);
        if line.contains(words) {
            return line;
        }
    }
}

/// A daemon is told to read a wrong file, then a right one, then to stop.
#[test]
fn reload_keeps_the_last_good_configuration_and_stop_is_clean() {
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
    assert_eq!(end_of(child), Some(0));
}

/// Waits until the program reads a named pipe.
fn open_when_read(child: &mut Child, pipe: &str) -> File {
    const NONBLOCK: i32 = 0o4000;
    let since = Instant::now();
    loop {
        // Refused as long as nobody reads.
        let mut open = File::options();
        if let Ok(pipe) = open.write(true).custom_flags(NONBLOCK).open(pipe) {
            return pipe;
        }
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended: {ended:?}");
        let late = since.elapsed() > Duration::from_secs(20);
        assert!(!late, "nobody reads {pipe}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What comes while the program still reads its configuration: it is kept until somebody can act on it.
#[test]
fn signals_that_come_early_are_remembered() {
    let dir = Scratch::new("early");
    let pipe = dir.path("f.toml");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let start = || demo(&["--config", &pipe]);
    // It has read nothing yet, and waits for the end of the file.
    let mut child = start();
    let rest = open_when_read(&mut child, &pipe);
    signal(&child, "TERM");
    drop(rest);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "stopping");
    assert_eq!(end_of(child), Some(0));

    let mut child = start();
    let rest = open_when_read(&mut child, &pipe);
    signal(&child, "HUP");
    std::fs::remove_file(&pipe).unwrap();
    dir.file("f.toml", "[sm]\npriority = 3\n");
    drop(rest);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    // Only who was told to reads it again.
    let line = wait_for(&mut err, "configuration applied");
    assert!(line.contains("sm.priority"), "{line}");
    signal(&child, "TERM");
    assert_eq!(end_of(child), Some(0));
}

/// It is told, rather than not served without a word.
#[test]
fn a_fabric_that_is_added_needs_a_restart() {
    let dir = Scratch::new("added");
    let fabric = |name: &str, guid: u8| {
        format!("[[fabric]]\nname = \"{name}\"\n[fabric.port]\nguid = \"{guid:#x}\"\n")
    };
    let file = dir.file("f.toml", &fabric("a", 1));
    let mut child = demo(&["--config", &file]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "sweep complete");
    let more = [fabric("b", 2), fabric("c", 3)].concat();
    dir.file("f.toml", &(fabric("a", 1) + &more));
    signal(&child, "HUP");
    let line = wait_for(&mut err, "added fabrics need a restart");
    assert!(line.contains("b, c"), "{line}");
    wait_for(&mut err, "configuration unchanged");
    signal(&child, "TERM");
    assert_eq!(end_of(child), Some(0));
}

#[test]
fn a_state_directory_has_one_owner() {
    let dir = Scratch::new("lock");
    let state = dir.path("state");
    let mut child = demo(&["--state-dir", &state]);
    let mut err = BufReader::new(child.stderr.take().unwrap());
    wait_for(&mut err, "sweep complete");
    let (code, _, second) = told(&["demo", "ring:3,1", "--once", "--state-dir", &state]);
    assert_eq!(code, Some(1));
    assert!(
        second.contains("another ferrosm uses state directory"),
        "{second}"
    );
    signal(&child, "INT");
    assert_eq!(end_of(child), Some(0));
}
