//! Invalid input and failures: one clear message and the right exit status, and the fabric remains
//! usable for other clients.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use ferrosm_channel::frames::{self, ClientRequest, ServerReply, VERSION};
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::paths::{ferrosm, workspace};
use ferrosm_tests::programs::process::{Finished, Launch, Running, Signal, poll_until};
use ferrosm_tests::programs::scratch::Scratch;

const LONG: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// Starts `ferrosm` with arguments in a directory.
fn start(dir: &Path, args: &[&str]) -> Running {
    Launch::new(ferrosm()).args(args).start(dir)
}

/// Runs `ferrosm` to its end.
fn run(dir: &Path, args: &[&str]) -> Finished {
    start(dir, args).wait(LONG)
}

/// Asserts that the command failed with this status and printed these words.
fn assert_fails(done: &Finished, status: i32, words: &[&str]) {
    assert_eq!(done.status.code(), Some(status), "{}", done.describe());
    for word in words {
        assert!(
            done.stderr.contains(word),
            "no {word:?}: {}",
            done.describe()
        );
    }
    assert!(done.stderr.starts_with("ferrosm: "), "{}", done.describe());
    assert!(!done.stderr.contains("panicked"), "{}", done.describe());
}

/// Asserts that the fabric is unchanged for other programs.
fn assert_fabric_serves(sim: &FabricServer) {
    let status = sim.execute("status");
    assert!(status.contains(" switches, "), "{status}");
    let net = sim.run("ibnetdiscover", &[]).expect_success();
    assert!(net.stdout.contains("Switch\t"), "{}", net.describe());
}

fn wait_until_ready(server: &mut Running) {
    poll_until(LONG, PAUSE, || {
        let output = server.stdout();
        assert!(server.ended().is_none(), "ended: {}", server.stderr());
        output.contains("serving on ").then_some(()).ok_or(output)
    })
    .unwrap_or_else(|e| panic!("{e}"));
}

fn kill(pid: u32) {
    let script = format!("kill -s KILL {pid}");
    assert!(
        Command::new("sh")
            .args(["-c", &script])
            .status()
            .unwrap_or_else(|e| panic!("{e}"))
            .success()
    );
}

/// Compiles a small client in C.
fn build(dir: &Path, name: &str) -> String {
    let source = workspace().join(format!("tests/clients/{name}.c"));
    let program = dir.join(name).to_string_lossy().into_owned();
    let built = Launch::new("cc")
        .args(&[
            "-O1",
            "-Wall",
            "-o",
            &program,
            &source.to_string_lossy(),
            "-libumad",
        ])
        .start(dir)
        .wait(LONG);
    drop(built.expect_success());
    program
}

/// Invalid fabric files, and the line of the error where there is one.
#[test]
fn invalid_fabric_files_are_rejected() {
    let scratch = Scratch::new("trouble");
    let dir = scratch.path();
    let switch = "Switch\t4 \"S-1\"\t\t# \"one\" base port 0 lid 0 lmc 0\n";
    let host = "\nCa\t1 \"H-1\"\t\t# \"host\"\n";
    let cases: [(&str, String, &[&str]); 7] = [
        (
            "ends",
            format!("{switch}[1]\t\"H-1\"[1]\n{host}[1]\t\"S-1\"[2]\n"),
            &["line ", "S-1"],
        ),
        (
            "twice",
            format!("{switch}[1]\t\"H-1\"[1]\n[1]\t\"H-2\"[1]\n{host}[1]\t\"S-1\"[1]\n"),
            &["line 3", "port 1"],
        ),
        (
            "speed",
            format!(
                "{switch}[1]\t\"H-1\"[1]\t# \"host\" lid 0 4xWDR\n{host}[1]\t\"S-1\"[1]\t# \"one\" lid 0 4xWDR\n"
            ),
            &["line 2", "WDR"],
        ),
        (
            "ports",
            format!("{switch}[9]\t\"H-1\"[1]\n{host}"),
            &["line 2"],
        ),
        ("empty", String::new(), &["no node"]),
        (
            "prose",
            "Dear reader,\nthis is no fabric.\n".to_owned(),
            &["no node"],
        ),
        ("nul", "\0\u{1}\u{2}\n\0\0\0".repeat(400), &["no node"]),
    ];
    for (name, text, words) in cases {
        fs::write(dir.join(name), text).unwrap();
        assert_fails(&run(dir, &["sim", name, "--socket", "s"]), 1, words);
    }
    assert_fails(
        &run(dir, &["sim", "not-there.net"]),
        2,
        &["there is no file not-there.net"],
    );
    assert_fails(&run(dir, &["sim", "."]), 1, &["cannot read .", "directory"]);
    assert_fails(
        &run(dir, &["sim", "no-shape:3"]),
        2,
        &["no-shape", "ferrosm demo --help"],
    );
    assert_fails(
        &run(dir, &["sim", "fat-tree3:80,80,80"]),
        2,
        &["A fabric is a file"],
    );
    assert!(!dir.join("s").exists() && !dir.join("s.d").exists());
}

/// A fabric with more end ports than LIDs cannot be one subnet.
#[test]
fn fabric_with_more_hosts_than_lids_is_rejected() {
    let scratch = Scratch::new("trouble");
    let done = run(scratch.path(), &["sim", "fat-tree:60", "--socket", "s"]);
    assert_fails(&done, 2, &["LID"]);
}

/// Sockets that are in use, stale, or cannot be created.
#[test]
fn unusable_sockets_are_reported() {
    let scratch = Scratch::new("trouble");
    let dir = scratch.path();
    let serve = ["sim", "star:2", "--socket", "s"];
    let mut first = start(dir, &serve);
    wait_until_ready(&mut first);
    assert_fails(&run(dir, &serve), 1, &["served on s already", "--socket"]);
    let status = ["sim-ctl", "--socket", "s", "status"];
    drop(run(dir, &status).expect_success());
    // A killed server leaves socket and directory behind; the next server replaces them.
    drop(first.stop(Signal::Kill, LONG));
    assert!(dir.join("s").exists() && dir.join("s.d").is_dir());
    assert_fails(
        &run(dir, &status),
        1,
        &["no simulated fabric at s", "ferrosm sim"],
    );
    let mut second = start(dir, &serve);
    wait_until_ready(&mut second);
    drop(run(dir, &status).expect_success());
    // A server that is stopped removes both.
    let done = second.stop(Signal::Terminate, LONG);
    assert_eq!(done.status.code(), Some(0), "{}", done.describe());
    assert!(!dir.join("s").exists() && !dir.join("s.d").exists());

    fs::write(dir.join("file"), "mine").unwrap();
    let serve_at = |socket: &str| run(dir, &["sim", "star:2", "--socket", socket]);
    assert_fails(
        &serve_at("file/s"),
        1,
        &["cannot listen on file/s", "--socket"],
    );
    assert_fails(
        &serve_at("no/such/dir"),
        1,
        &["cannot listen on no/such/dir"],
    );
    // A file that is not a socket is not removed.
    assert_fails(&serve_at("file"), 1, &["cannot listen on file"]);
    assert_eq!(fs::read(dir.join("file")).unwrap(), b"mine");
    // A directory that happens to have the name of the server's directory is not removed either.
    fs::create_dir(dir.join("conf.d")).unwrap();
    fs::write(dir.join("conf.d/file"), "mine").unwrap();
    assert_fails(&serve_at("conf"), 1, &["conf.d exists"]);
    assert!(dir.join("conf.d/file").exists() && !dir.join("conf").exists());
    let long = "x".repeat(120);
    assert_fails(&serve_at(&long), 1, &["too long for a socket: 120 bytes"]);
    assert!(!dir.join(format!("{long}.d")).exists());
    let args = [
        "sim",
        "star:2",
        "--socket",
        "s",
        "--capture",
        "file/c.pcapng",
    ];
    assert_fails(
        &run(dir, &args),
        1,
        &["cannot create capture file/c.pcapng"],
    );
}

/// Invalid scenarios and statements: line and column, exit status 1.
#[test]
fn invalid_statements_are_rejected() {
    let scratch = Scratch::new("trouble");
    let dir = scratch.path();
    for (text, word) in [
        ("cut host-0[x]\n", "line 1, column 12"),
        ("loss 20%\nexplode all\n", "line 2, column 1"),
        ("cut nobody[1]\n", "unknown node nobody"),
    ] {
        fs::write(dir.join("plan"), text).unwrap();
        let done = run(
            dir,
            &["sim", "star:2", "--socket", "s", "--scenario", "plan"],
        );
        assert_fails(&done, 1, &["plan: line ", word]);
    }
    let done = run(
        dir,
        &["sim", "star:2", "--socket", "s", "--scenario", "none"],
    );
    assert_fails(&done, 1, &["none: No such file"]);

    let sim = FabricServer::shape("star:2");
    for (statement, word) in [
        ("explode", "unknown command `explode`"),
        ("cutt 0[1]", "did you mean `cut`?"),
        ("lids all", "`lids` has no arguments"),
        ("judge 16", "16 is no SL: SLs are 0 to 15"),
        (
            "judge absent.dump",
            "cannot read the path SLs in absent.dump: No such file",
        ),
        ("cut nobody[1]", "unknown node nobody"),
        ("cut host-9[1]", "did you mean \"host-0 mlx5_0\""),
        ("cut 0[77]", "0 has no port 77: it has port"),
        ("loss much", "much"),
        ("unplug 0[200]", "200"),
        ("judge", "no SM has configured the fabric"),
        ("cut \"open", "unterminated quoted text"),
    ] {
        assert_fails(&sim.try_execute(statement), 1, &[word]);
        assert_fabric_serves(&sim);
    }
}

/// Programs that cannot be attached.
#[test]
fn failed_attach_is_reported() {
    let scratch = Scratch::new("trouble");
    let two = "Switch\t4 \"S-1\"\t\t# \"hub\" base port 0 lid 0 lmc 0\n[1]\t\"H-1\"[1]\n[2]\t\"H-2\"[1]\n\n\
               caguid=0x11\nCa\t1 \"H-1\"\t\t# \"same name\"\n[1]\t\"S-1\"[1]\n\n\
               caguid=0x22\nCa\t1 \"H-2\"\t\t# \"same name\"\n[1]\t\"S-1\"[2]\n";
    let sim = FabricServer::serve(two);
    let socket = sim.socket().to_string_lossy().into_owned();
    let attach = |rest: &[&str]| {
        let head = ["attach", "--socket", &socket];
        run(scratch.path(), &[&head[..], rest].concat())
    };
    let nobody = ["no node \"nobody\"", "; for example \""];
    assert_fails(&attach(&["--node", "nobody", "--", "true"]), 1, &nobody);
    let several = [
        "several nodes are called \"same name\"",
        "0x0000000000000011",
    ];
    assert_fails(&attach(&["--node", "same name", "--", "true"]), 1, &several);
    let twice = ["--node", "0x11", "--node", "0x11", "--", "true"];
    assert_fails(&attach(&twice), 1, &["named twice"]);
    drop(attach(&["--node", "0x22", "--", "true"]).expect_success());
    assert_fails(
        &attach(&["--", "/no/such"]),
        127,
        &["cannot run /no/such", "No such file"],
    );
    fs::write(scratch.join("text"), "no program").unwrap();
    assert_fails(
        &attach(&["--", "./text"]),
        126,
        &["cannot run ./text", "Permission denied"],
    );
    let without_library = Launch::new(ferrosm())
        .env("FERROSM_ATTACH_LIB", "/no/library.so")
        .args(&["attach", "--socket", &socket, "--", "true"])
        .start(scratch.path())
        .wait(LONG);
    assert_fails(
        &without_library,
        1,
        &["/no/library.so does not exist", "FERROSM_ATTACH_LIB"],
    );
    let no_server = run(
        scratch.path(),
        &["attach", "--socket", "nowhere", "--", "true"],
    );
    assert_fails(
        &no_server,
        1,
        &[
            "no simulated fabric at ",
            "nowhere: No such file",
            "ferrosm sim",
        ],
    );
    let no_program = run(scratch.path(), &["attach", "--socket", &socket]);
    assert_eq!(
        no_program.status.code(),
        Some(2),
        "{}",
        no_program.describe()
    );
    // `attach` exits with the status of the program.
    assert_eq!(attach(&["--", "sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_fabric_serves(&sim);
}

/// Clients are killed at seeded random moments during the transfer of megabytes of records.
#[test]
fn client_killed_during_a_transfer_disturbs_no_other() {
    const HOSTS: usize = 150;
    let sim = FabricServer::shape(&format!("star:{HOSTS}"));
    let mut sm = OpenSm::start(&sim, None, &[]);
    sm.wait_until_up(1);
    // Without the delay all records arrive before a busy machine has read the packet count.
    sim.execute("latency 1ms \"host-9 mlx5_0\"");
    let mut seed = 17_u64;
    let mut midway = 0;
    for _ in 0..12 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // The client is killed after this many more packets, of about 7,400 that the records take.
        let enough = packets(&sim) + 100 + (seed >> 33) % 5000;
        let mut program = sim
            .launch("saquery", Some("host-9 mlx5_0"))
            .args(&["PR"])
            .start(sim.dir());
        while program.ended().is_none() && packets(&sim) < enough {}
        let done = program.stop(Signal::Kill, LONG);
        midway += usize::from(done.status.code().is_none() && done.stdout.is_empty());
    }
    assert!(
        midway >= 4,
        "only {midway} of 12 were killed during the transfer"
    );
    assert_fabric_serves(&sim);
    let complete = sim
        .run_at("host-9 mlx5_0", "saquery", &["PR"])
        .expect_success();
    let ports = HOSTS + 1;
    assert_eq!(
        complete.stdout.matches("PathRecord dump:").count(),
        ports * ports
    );
    poll_until(LONG, PAUSE, || {
        let clients = sim.execute("clients");
        if clients.contains("saquery") {
            Err(clients)
        } else {
            Ok(())
        }
    })
    .unwrap();
}

/// The number before a word in the reply to `status`.
fn count(sim: &FabricServer, word: &str) -> u64 {
    let mut server = UnixStream::connect(sim.socket()).unwrap_or_else(|e| panic!("{e}"));
    server
        .write_all(b"status\n")
        .unwrap_or_else(|e| panic!("{e}"));
    server
        .shutdown(std::net::Shutdown::Write)
        .unwrap_or_else(|e| panic!("{e}"));
    let mut text = String::new();
    server
        .read_to_string(&mut text)
        .unwrap_or_else(|e| panic!("{e}"));
    let number = text
        .split_once(word)
        .and_then(|(before, _)| before.split_whitespace().last()?.parse().ok());
    number.unwrap_or_else(|| panic!("no {word:?} in {text}"))
}

/// MADs written by programs so far.
fn written(sim: &FabricServer) -> u64 {
    count(sim, "MADs written")
}

/// Packets carried by the fabric so far, including those of transfers.
fn packets(sim: &FabricServer) -> u64 {
    count(sim, "packets sent")
}

/// Writes shorter and longer than a MAD return the kernel's errors.
#[test]
fn writes_of_invalid_length_are_rejected() {
    const EINVAL: &str = "22";
    let sim = FabricServer::shape("star:2");
    let program = build(sim.dir(), "halves");
    let done = sim.run_at("host-1 mlx5_0", &program, &[]).expect_success();
    let output: Vec<&str> = done
        .stdout
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(_, what)| what)
        .collect();
    assert_eq!(output.len(), 5, "{}", done.describe());
    assert_eq!(output[..4], [EINVAL; 4], "{}", done.describe());
    // A longer write without RMPP is rejected.
    assert_fabric_serves(&sim);
}

/// A client connection after the handshake.
fn connect_client(sim: &FabricServer) -> UnixStream {
    let stream = UnixStream::connect(sim.socket()).unwrap_or_else(|e| panic!("{e}"));
    frames::send_magic(&stream).unwrap_or_else(|e| panic!("{e}"));
    let hello = ClientRequest::Hello {
        version: VERSION,
        nodes: vec![],
        pid: 1,
        program: "hostile".to_owned(),
    };
    assert_eq!(request_reply(&stream, &hello), Some(ServerReply::Done));
    stream
}

fn request_reply(stream: &UnixStream, request: &ClientRequest) -> Option<ServerReply> {
    frames::send(stream, &request.encode(), &[]).ok()?;
    let (frame, _) = frames::receive(stream).ok()??;
    ServerReply::decode(&frame).ok()
}

/// Clients that write garbage into the memory shared with the server: the server disconnects only
/// them.
#[test]
fn garbage_in_shared_memory_disconnects_the_client() {
    let sim = FabricServer::shape("star:2");
    let mut seed = 5_u64;
    for round in 0..20 {
        let stream = connect_client(&sim);
        frames::send(&stream, &ClientRequest::OpenUmad { index: 0 }.encode(), &[]).unwrap();
        let (frame, fds) = frames::receive(&stream).unwrap().unwrap();
        assert_eq!(ServerReply::decode(&frame), Ok(ServerReply::Opened));
        let memory = fs::File::from(fds.into_iter().next().unwrap());
        let length = memory.metadata().unwrap().len();
        let garbage: Vec<u8> = (0..length)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if round == 0 { 0xFF } else { (seed >> 56) as u8 }
            })
            .collect();
        memory.write_all_at(&garbage, 0).unwrap();
        // The seals forbid shrinking the file, which would kill a server that reads it.
        assert!(memory.set_len(0).is_err());
        sim.execute("status");
        // A request is pending: the server replies or disconnects, and does not hang.
        let _ = request_reply(&stream, &ClientRequest::ListFiles);
    }
    assert_fabric_serves(&sim);
    poll_until(LONG, PAUSE, || {
        let clients = sim.execute("clients");
        if clients.contains("hostile") {
            Err(clients)
        } else {
            Ok(())
        }
    })
    .unwrap();
}

/// Connections that send too much, too little, or nothing.
#[test]
fn invalid_connections_are_closed() {
    let sim = FabricServer::shape("star:2");
    let mut long = UnixStream::connect(sim.socket()).unwrap();
    // The server may close the connection before the client has written everything.
    let _ = long.write_all(&vec![b'x'; 1 << 20]);
    let mut answer = Vec::new();
    let _ = long.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.is_empty() || answer.contains("error: the line is too long"),
        "{answer}"
    );
    assert_fabric_serves(&sim);

    let mut half = UnixStream::connect(sim.socket()).unwrap();
    half.write_all(&[0, b'f']).unwrap();
    let mut frame = connect_client(&sim);
    frame.write_all(&[200, 0, 0]).unwrap();
    let mut huge = connect_client(&sim);
    huge.write_all(&[0xFF; 4]).unwrap();
    assert_eq!(huge.read(&mut [0; 8]).unwrap_or(0), 0, "a frame of 4 GB");
    let unknown = connect_client(&sim);
    frames::send(&unknown, &99_u32.to_le_bytes(), &[]).unwrap();
    let reply = frames::receive(&unknown)
        .unwrap()
        .map(|(frame, _)| ServerReply::decode(&frame));
    assert!(
        matches!(reply, Some(Ok(ServerReply::Refused(_)))),
        "{reply:?}"
    );
    assert_fabric_serves(&sim);
    drop((half, frame));

    let many: Vec<UnixStream> = (0..200)
        .map(|_| UnixStream::connect(sim.socket()).unwrap())
        .collect();
    assert_fabric_serves(&sim);
    drop(many);
    let threads = format!("/proc/{}/task", sim.pid());
    poll_until(LONG, PAUSE, || {
        let count = fs::read_dir(&threads).unwrap().count();
        if count < 20 {
            Ok(())
        } else {
            Err(format!("{count} threads"))
        }
    })
    .unwrap();
    assert_fabric_serves(&sim);
}

/// The server is killed: its clients end with an error and do not hang.
#[test]
fn clients_report_a_killed_server() {
    let sim = FabricServer::shape("star:4");
    let until_error = "while ibnetdiscover > /dev/null; do :; done; echo over; exit 3";
    let path = "PATH=$PATH:/usr/sbin:/sbin";
    let script = format!("{path}; {until_error}");
    let busy: Vec<Running> = ["host-0 mlx5_0", "host-1 mlx5_0"]
        .iter()
        .map(|host| {
            sim.launch("sh", Some(host))
                .args(&["-c", &script])
                .start(sim.dir())
        })
        .collect();
    let mut control = UnixStream::connect(sim.socket()).unwrap();
    poll_until(LONG, PAUSE, || {
        let so_far = written(&sim);
        if so_far > 200 {
            Ok(())
        } else {
            Err(format!("{so_far} MADs"))
        }
    })
    .unwrap();
    kill(sim.pid());
    for program in busy {
        let done = program.wait(LONG);
        assert_eq!(done.status.code(), Some(3), "{}", done.describe());
    }
    assert_eq!(control.read(&mut [0; 8]).unwrap_or(0), 0);
    assert_fails(&sim.try_execute("status"), 1, &["no simulated fabric"]);
}

/// Concurrent threads receive the replies to their own requests.
#[test]
fn concurrent_control_requests_are_answered() {
    let sim = FabricServer::shape("star:2");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let _ = written(&sim);
                }
            });
        }
    });
    assert_fabric_serves(&sim);
}
