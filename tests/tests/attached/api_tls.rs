//! The API over TCP, asked by curl and `openssl s_client`: certificates, roles, and clients that
//! hold connections without using them.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::net::{SocketAddr, TcpStream};

use ferrosm_tests::programs::certificates::{Authority, Subject};
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::loopback;
use ferrosm_tests::programs::process::{Finished, Launch, Running, Signal, poll_until};
use serde_json::Value;

use super::api::{GUARD, PAUSE, ask, json, start, wait_for_health};

/// A service with a TCP listener, and the certificates of clients.
pub(super) struct Site {
    pub(super) sim: FabricServer,
    pub(super) service: Running,
    pub(super) address: SocketAddr,
}

const CLIENTS: &str = "[[api-client]]\nsubject = \"viewer\"\n\
    [[api-client]]\nsubject = \"night-shift.example\"\nrole = \"operate\"\n\
    [[api-client]]\nsubject = \"site-admin\"\nrole = \"admin\"\n";

impl Site {
    pub(super) fn start() -> Self {
        let sim = FabricServer::shape("fat-tree2:4,4,2");
        let address = loopback::free(1)[0];
        let dir = sim.dir();
        let authority = Authority::default();
        let issue = |file: &str, common_name: &str, names: &[&str]| {
            let subject = Subject {
                common_name,
                names,
                ..Subject::default()
            };
            authority.issue(dir, file, subject);
        };
        authority.write(dir, "ca");
        issue("server", "sm", &[&address.ip().to_string()]);
        issue("viewer", "viewer", &[]);
        issue("operator", "any", &["night-shift.example"]);
        issue("admin", "site-admin", &[]);
        issue("stranger", "stranger", &[]);
        let expired = Subject {
            common_name: "site-admin",
            is_expired: true,
            ..Subject::default()
        };
        authority.issue(dir, "expired", expired);
        let impostor = Subject {
            is_expired: false,
            ..expired
        };
        Authority::default().issue(dir, "impostor", impostor);
        configure(&sim, address, CLIENTS);
        let config = dir.join("f.toml").display().to_string();
        let service = start(&sim, None, "sm", &["--config", &config]);
        wait_for_health(&sim, "sm", 0, &["OK"]);
        Self {
            sim,
            service,
            address,
        }
    }

    fn url(&self, target: &str) -> String {
        format!("https://{}{target}", self.address)
    }

    /// Starts curl with the certificate of a client.
    pub(super) fn curl(&self, client: &str, target: &str, args: &[&str]) -> Running {
        let certificate = format!("{client}.crt");
        let key = format!("{client}.key");
        Launch::new("curl")
            .args(&["--silent", "--show-error", "--cacert", "ca.crt"])
            .args(&["--cert", &certificate, "--key", &key, &self.url(target)])
            .args(&["--write-out", "\n%{http_code}"])
            .args(args)
            .start(self.sim.dir())
    }

    /// The status and the JSON of an answer.
    pub(super) fn ask(&self, client: &str, target: &str, args: &[&str]) -> (u16, Value) {
        let asked = self.curl(client, target, args).wait(GUARD).expect_success();
        let (body, status) = asked.stdout.rsplit_once('\n').unwrap();
        let body = serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {body}"));
        (status.parse().unwrap(), body)
    }

    /// Runs `openssl s_client` with one request.
    fn s_client(&self, args: &[&str]) -> Finished {
        use std::io::Write as _;
        let mut client = Launch::new("openssl")
            .args(&["s_client", "-connect", &self.address.to_string()])
            .args(&["-CAfile", "ca.crt", "-ign_eof"])
            .args(args)
            .with_stdin_pipe()
            .start(self.sim.dir());
        let request = b"GET /v1/status HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        // Fails if the server was quicker to end the connection.
        let _ = client.stdin().unwrap().write_all(request);
        client.wait(GUARD)
    }
}

fn configure(sim: &FabricServer, address: SocketAddr, clients: &str) {
    let text = format!(
        "[api]\nlisten = \"{address}\"\ncertificate = \"server.crt\"\nkey = \"server.key\"\nclient-ca = \"ca.crt\"\n{clients}"
    );
    fs::write(sim.dir().join("f.toml"), text).unwrap();
}

fn assert_refused(answer: &(u16, Value), status: u16, kind: &str, remedy: &str) {
    let (found, body) = answer;
    let error = &body["error"];
    assert_eq!((*found, &error["kind"]), (status, &kind.into()), "{body}");
    assert!(error["remedy"].as_str().unwrap().contains(remedy), "{body}");
}

/// Only clients with a valid certificate of the CA get an answer, and only with a role more than a
/// refusal.
#[test]
fn certificates_decide_who_may_ask() {
    let site = Site::start();
    for (args, alert) in [
        (&[][..], "certificate required"),
        (
            &["-cert", "impostor.crt", "-key", "impostor.key"],
            "alert decrypt error",
        ),
        (
            &["-cert", "expired.crt", "-key", "expired.key"],
            "certificate expired",
        ),
    ] {
        let refused = site.s_client(args);
        assert!(refused.stderr.contains(alert), "{}", refused.describe());
        assert!(
            !refused.stdout.contains("HTTP/1.1"),
            "{}",
            refused.describe()
        );
    }
    let known = site.s_client(&["-cert", "viewer.crt", "-key", "viewer.key"]);
    assert!(
        known.stdout.contains("HTTP/1.1 200 OK"),
        "{}",
        known.describe()
    );
    assert!(known.stdout.contains("TLSv1.3"), "{}", known.describe());
    let old = site.s_client(&["-tls1_2", "-cert", "viewer.crt", "-key", "viewer.key"]);
    assert!(
        old.stderr.contains("alert protocol version"),
        "{}",
        old.describe()
    );

    let plain = Launch::new("curl")
        .args(&[
            "--silent",
            "--show-error",
            &format!("http://{}/v1/status", site.address),
        ])
        .start(site.sim.dir())
        .wait(GUARD);
    assert!(!plain.status.success(), "{}", plain.describe());
    assert!(!plain.stdout.contains("revision"), "{}", plain.describe());

    let stranger = site.ask("stranger", "/v1/status", &[]);
    assert_refused(&stranger, 403, "forbidden", "[[api-client]]");
    for header in ["Origin: https://example.com", "Sec-Fetch-Site: cross-site"] {
        let page = site.ask("viewer", "/v1/status", &["--header", header]);
        assert_refused(&page, 403, "forbidden", "`[web]`");
    }
    assert!(
        stranger.1["error"]["message"]
            .as_str()
            .unwrap()
            .contains("stranger")
    );
}

/// Each role may do what its table in docs/api.md says; the audit log names the certificate and the
/// address. A reload changes roles, also of open connections.
#[test]
fn roles_decide_what_a_client_may_do() {
    let site = Site::start();
    let post = ["--request", "POST"];
    let body = ["--header", "content-type: application/json", "--data"];
    let drain = [&body[..], &["{\"target\": \"spine-1\"}"]].concat();
    assert_eq!(site.ask("viewer", "/v1/links", &[]).0, 200);
    let refused = site.ask("viewer", "/v1/sweep", &post);
    assert_refused(&refused, 403, "forbidden", "role operate");
    assert_refused(
        &site.ask("viewer", "/v1/drain", &drain),
        403,
        "forbidden",
        "operate",
    );
    for fresh in ["/v1/links?fresh=true", "/v1/links?fr%65sh=true"] {
        assert_refused(&site.ask("viewer", fresh, &[]), 403, "forbidden", "operate");
        assert_eq!(site.ask("operator", fresh, &[]).0, 200);
    }
    let drained = site.ask("operator", "/v1/drain?reason=T-1", &drain);
    assert_eq!(drained.0, 200, "{}", drained.1);
    let by = drained.1["by"].as_str().unwrap();
    assert!(by.starts_with("any (127.0.0.1:"), "{by}");
    let maintenance = json(&site.sim, "sm", &["maintenance"]);
    assert_eq!(maintenance["items"][0]["name"], "spine-1", "{maintenance}");
    let health = json(&site.sim, "sm", &["health"]);
    assert_eq!(health["maintenance"], maintenance["items"], "{health}");
    let audit = fs::read_to_string(site.sim.dir().join("sm/audit.jsonl")).unwrap();
    assert!(audit.contains("\"by\":\"any (127.0.0.1:"), "{audit}");

    let partition = [
        "--request",
        "PUT",
        body[0],
        body[1],
        "--data",
        "{\"p_key\": \"0x51\", \"members\": [\"ALL\"]}",
    ];
    let refused = site.ask("operator", "/v1/partitions/T", &partition);
    assert_refused(&refused, 403, "forbidden", "role admin");
    assert_refused(
        &site.ask("operator", "/v1/handover", &post),
        403,
        "forbidden",
        "admin",
    );
    let created = site.ask("admin", "/v1/partitions/T", &partition);
    assert_eq!(created.0, 200, "{}", created.1);
    let lid = &json(&site.sim, "sm", &["where", "host-0-0"])["items"][0]["lid"];
    let p_keys = site.sim.run("smpquery", &["pkeys", &lid.to_string(), "1"]);
    assert!(p_keys.expect_success().stdout.contains("0x8051"));

    let changed = CLIENTS.replace("\"viewer\"", "\"viewer\"\nrole = \"operate\"");
    configure(&site.sim, site.address, &changed);
    site.service.signal(Signal::Hangup);
    let outcome = poll_until(GUARD, PAUSE, || {
        let (status, answer) = site.ask("viewer", "/v1/sweep", &post);
        if status == 200 {
            Ok(())
        } else {
            Err(answer.to_string())
        }
    });
    outcome.unwrap();
}

/// Clients that hold connections open, send too much or read nothing do not keep others waiting.
#[test]
fn slow_clients_do_not_keep_others_waiting() {
    let site = Site::start();
    // More than the handshakes at the same time: the first ones are disconnected.
    let half_open: Vec<TcpStream> = (0..80)
        .map(|_| TcpStream::connect(site.address).unwrap())
        .collect();
    assert_eq!(site.ask("viewer", "/v1/status", &[]).0, 200);
    drop(half_open);
    fs::write(site.sim.dir().join("huge"), "x".repeat(70_000)).unwrap();
    let args = [
        "--header",
        "content-type: application/json",
        "--data-binary",
        "@huge",
    ];
    let huge = site.ask("operator", "/v1/drain", &args);
    assert_refused(&huge, 400, "invalid-request", "");
    assert!(
        huge.1["error"]["message"]
            .as_str()
            .unwrap()
            .contains("65536 bytes")
    );
    // It has sent a request for more than the socket holds, and reads nothing.
    let requests = vec![site.url("/v1/openapi.json"); 200];
    let requests: Vec<&str> = requests.iter().map(String::as_str).collect();
    let slow = site.curl(
        "viewer",
        "/v1/status",
        &[&["--limit-rate", "1"], &requests[..]].concat(),
    );
    assert_eq!(site.ask("viewer", "/v1/status", &[]).0, 200);
    drop(slow);
}

/// `ferrosm` itself as a client: by flags and by the environment, with errors that help.
#[test]
fn commands_use_the_listener() {
    let site = Site::start();
    let url = format!("https://{}", site.address);
    let flags = |client: &str| {
        let file = |name: &str| site.sim.dir().join(name).display().to_string();
        [
            "--api".to_owned(),
            url.clone(),
            format!("--api-cert={}", file(&format!("{client}.crt"))),
            format!("--api-key={}", file(&format!("{client}.key"))),
            format!("--api-ca={}", file("ca.crt")),
        ]
    };
    let run = |command: &[&str], client: &str| {
        let flags = flags(client);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        site.sim.ferrosm(&[command, &flags[..]].concat())
    };
    let remote = run(&["links", "--json"], "viewer").expect_success();
    let local = ask(&site.sim, "sm", &["links", "--json"]).expect_success();
    let items = |text: &str| serde_json::from_str::<Value>(text).unwrap()["items"].clone();
    assert_eq!(items(&remote.stdout), items(&local.stdout));
    let swept = run(&["sweep"], "operator").expect_success();
    assert!(swept.stdout.contains("complete"), "{}", swept.describe());
    let refused = run(&["sweep"], "viewer");
    assert!(
        refused.stderr.contains("role operate"),
        "{}",
        refused.describe()
    );
    let expired = run(&["status"], "expired");
    assert!(!expired.status.success());
    assert!(
        expired.stderr.contains("Check the address"),
        "{}",
        expired.describe()
    );
    let from_environment = Launch::new(ferrosm_tests::programs::paths::ferrosm())
        .args(&["status"])
        .env("FERROSM_API", &*url)
        .env("FERROSM_API_CERT", "viewer.crt")
        .env("FERROSM_API_KEY", "viewer.key")
        .env("FERROSM_API_CA", "ca.crt")
        .start(site.sim.dir())
        .wait(GUARD)
        .expect_success();
    assert!(
        from_environment.stdout.contains("master"),
        "{}",
        from_environment.describe()
    );
}
