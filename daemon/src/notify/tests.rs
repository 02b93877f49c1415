//! Notifications to a server, a program and a socket of the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;

use tempfile::TempDir;

use super::*;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(30);

pub(super) fn notification(change: AlarmChange, id: u64) -> Arc<Notification> {
    Arc::new(Notification {
        at: "2026-11-29T12:00:00.000Z".to_owned(),
        host: "sm1".to_owned(),
        change,
        alarm: alarm(id),
    })
}

fn alarm(id: u64) -> Alarm {
    Alarm {
        id,
        key: format!("link:{id}"),
        kind: "link-down".to_owned(),
        severity: EventSeverity::Error,
        state: AlarmState::Active,
        object: ObjectName {
            guid: "0x0000000000000001".to_owned(),
            name: "leaf/1 - spine/1".to_owned(),
            location: "leaf/1".to_owned(),
        },
        text: "down".to_owned(),
        raised_at: "2026-11-29T12:00:00.000Z".to_owned(),
        since: None,
        cleared_at: None,
        occurrences: 1,
        acknowledged: None,
        cause: None,
        parts: Vec::new(),
        num_parts: 0,
    }
}

fn entry(name: &str) -> NotifyEntry {
    NotifyEntry {
        name: name.to_owned(),
        ..NotifyEntry::default()
    }
}

/// Receives a request; answers with a status. Returns head and body.
fn answer_request(listener: &TcpListener, status: &str) -> (String, Notification) {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(GUARD)).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
    }
    let lower = head.to_lowercase();
    let len = lower.split("content-length: ").nth(1).unwrap();
    let len = len.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; len];
    reader.read_exact(&mut body).unwrap();
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(answer.as_bytes()).unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

/// A target that fails gets the notification again; raise and clear arrive in order with the same
/// number, and what an alarm contains is not sent.
#[test]
fn webhook_gets_each_change_once_it_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?key=1", listener.local_addr().unwrap());
    let notifier = Notifier::default();
    notifier.configure(vec![NotifyEntry {
        url: Some(url),
        severity: EventSeverity::Error,
        ..entry("hook")
    }]);
    let at = SystemTime::now();
    let minor = Alarm {
        severity: EventSeverity::Warning,
        ..alarm(1)
    };
    let caused = Alarm {
        cause: Some(3),
        ..alarm(2)
    };
    for alarm in [&minor, &caused, &alarm(3)] {
        notifier.notify(AlarmChange::Raised, alarm, at);
    }
    let (head, first) = answer_request(&listener, "503 Service Unavailable");
    assert!(head.starts_with("POST /hook?key=1 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    notifier.notify(AlarmChange::Cleared, &alarm(3), at);
    let (_, again) = answer_request(&listener, "200 OK");
    let (_, cleared) = answer_request(&listener, "204 No Content");
    assert_eq!(first, again);
    let changes = [&first, &cleared].map(|notice| (notice.change, notice.alarm.id));
    assert_eq!(
        changes,
        [(AlarmChange::Raised, 3), (AlarmChange::Cleared, 3)]
    );
}

/// A program gets JSON and no environment; one that hangs or fails is an error of the test.
#[test]
fn program_gets_the_notification() {
    let dir = TempDir::new().unwrap();
    let script = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        path.display().to_string()
    };
    let out = dir.path().join("out");
    let good = script(
        "good",
        &format!(
            "#!/bin/sh\ncat > {0}; env >> {0}; echo $1 >> {0}\n",
            out.display()
        ),
    );
    let bad = script("bad", "#!/bin/sh\nexit 3\n");
    let notifier = Notifier::default();
    notifier.configure(vec![
        NotifyEntry {
            exec: vec![good, "pager".to_owned()],
            ..entry("good")
        },
        NotifyEntry {
            exec: vec![bad],
            ..entry("bad")
        },
    ]);
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let results = runtime.unwrap().block_on(async {
        let one = notifier.test(Some("none".to_owned())).await;
        assert_eq!(one, []);
        notifier.test(None).await
    });
    let errors: Vec<_> = results
        .iter()
        .map(|result| result.error.is_none())
        .collect();
    assert_eq!(errors, [false, true], "{results:?}");
    let error = results[0].error.as_ref().unwrap();
    assert!(error.contains("exit status: 3"), "{error}");
    let written = std::fs::read_to_string(&out).unwrap();
    let mut lines = written.lines();
    let notice: Notification = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(notice.change, AlarmChange::Test);
    assert_eq!(lines.next_back(), Some("pager"));
    assert!(
        lines.all(|line| ["PATH=", "PWD=", "SHLVL=", "_="]
            .iter()
            .any(|v| line.starts_with(v))),
        "{written}"
    );
}

/// A syslog socket gets a line; targets that a reload leaves unchanged keep what waits.
#[test]
fn syslog_socket_gets_a_line() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(GUARD)).unwrap();
    let target = NotifyEntry {
        syslog: Some(path.display().to_string()),
        kinds: vec!["link-*".to_owned()],
        ..entry("syslog")
    };
    let notifier = Notifier::default();
    notifier.configure(vec![target.clone()]);
    let absent = Alarm {
        kind: "node-absent".to_owned(),
        ..alarm(1)
    };
    for alarm in [&absent, &alarm(2)] {
        notifier.notify(AlarmChange::Raised, alarm, SystemTime::now());
    }
    notifier.configure(vec![entry("other"), target]);
    let mut line = [0; 2048];
    let len = socket.recv(&mut line).unwrap();
    let line = core::str::from_utf8(&line[..len]).unwrap();
    assert!(line.starts_with("<27>1 20"), "{line}");
    assert!(
        line.ends_with(" alarm 2 raised: leaf/1 - spine/1: down"),
        "{line}"
    );
}
