//! `export` and `draw`, of a running service and of files.

use crate::demo::Demo;
use crate::harness::{Scratch, program, run_ferrosm};

/// A service and the file of its fabric have the same topology.conf; a check prints what differs.
#[test]
fn topology_conf_of_a_service_is_that_of_its_fabric() {
    let scratch = Scratch::new("slurm");
    let demo = Demo::start("fat-tree:4");
    let (code, live, err) = demo.ask(&["export", "slurm"]);
    assert_eq!(code, Some(0), "{err}");
    let (code, of_file, err) = run_ferrosm(&["export", "slurm", "--from", "fat-tree:4"]);
    assert_eq!((code, &live), (Some(0), &of_file), "{err}");
    let last = live.lines().last().unwrap();
    assert_eq!(last, "SwitchName=level3 Switches=level2-leaf-[0-3]");
    let file = scratch.file("topology.conf", &live);
    let check = &["export", "slurm", "--check", &file];
    let (code, out, _) = demo.ask(check);
    assert_eq!(
        (code, out.contains("13 switches, 16 hosts")),
        (Some(0), true),
        "{out}"
    );
    scratch.file(
        "topology.conf",
        &live.replace("host-2-1-[0-1]", "host-2-1-[0-2]"),
    );
    let (code, out, _) = demo.ask(check);
    let expected =
        "- SwitchName=leaf-2-1 Nodes=host-2-1-[0-2]\n+ SwitchName=leaf-2-1 Nodes=host-2-1-[0-1]\n";
    assert_eq!((code, out.as_str()), (Some(1), expected));
    let (code, out, _) = demo.ask(&["export", "csv"]);
    assert_eq!((code, out.lines().count()), (Some(0), 1 + 48), "{out}");
    let (code, out, _) = demo.ask(&["export", "dot"]);
    assert_eq!((code, out.matches(" -- ").count()), (Some(0), 48), "{out}");
}

#[test]
fn service_is_drawn_in_all_formats_and_with_all_highlights() {
    let scratch = Scratch::new("draw");
    let demo = Demo::start("fat-tree:4");
    for (format, start) in [
        ("svg", "<svg "),
        ("pdf", "%PDF-1.4"),
        ("html", "<!doctype html>"),
    ] {
        let file = scratch.path("drawing");
        let (code, _, err) = demo.ask(&["draw", "--format", format, "-o", &file]);
        assert_eq!(code, Some(0), "{err}");
        let bytes = std::fs::read(&file).unwrap();
        assert!(bytes.starts_with(start.as_bytes()), "{format}");
    }
    for (highlight, expected) in [
        (&["load"][..], "busiest link"),
        (&["alarms"], "nodes and links with alarms"),
        (
            &["path", "host-0-0-0", "host-3-1-1"],
            "Path from host-0-0-0",
        ),
    ] {
        let (code, out, err) = demo.ask(&[&["draw", "--highlight"], highlight].concat());
        assert_eq!((code, out.contains(expected)), (Some(0), true), "{err}");
    }
    for highlight in [&["path", "host-0-0-0"][..], &["colour"]] {
        let args = [&["draw", "--from", "star:3", "--highlight"], highlight].concat();
        assert_eq!(run_ferrosm(&args).0, Some(2), "{args:?}");
    }
}

/// The path in a drawing of a file is that of `explain`.
#[test]
fn file_is_drawn_with_paths_and_load() {
    let draw = |args: &[&str]| {
        let all = [&["draw", "--from", "fat-tree:4", "--highlight"], args].concat();
        let output = program(&all).output().unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let path = draw(&["path", "host-0-0-0", "host-3-1-1"]);
    assert!(
        path.contains("Path from host-0-0-0 mlx5_0 to host-3-1-1 mlx5_0"),
        "{path}"
    );
    assert!(draw(&["load"]).contains("busiest link"));
    let (code, out, _) = run_ferrosm(&["topology", "--from", "fat-tree:4", "--format", "svg"]);
    assert_eq!((code, out.matches("<rect ").count() > 20), (Some(0), true));
    let (code, _, err) = run_ferrosm(&["draw", "--from", "star:3", "--highlight", "alarms"]);
    assert_eq!(
        (code, err.contains("a file has no alarms")),
        (Some(2), true),
        "{err}"
    );
}
