//! UFM's calls, sent by curl as ib-kubernetes sends them (pkg/sm/plugins/ufm/ufm.go and
//! pkg/drivers/http/client.go of Mellanox/ib-kubernetes); `smpquery` reads the P_Key tables.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::net::SocketAddr;

use ferrosm_tests::programs::certificates::{Authority, Subject};
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::loopback;
use ferrosm_tests::programs::process::{Launch, Running};
use serde_json::Value;

use super::api::{GUARD, json, start, wait_for_health};

struct Site {
    sim: FabricServer,
    _service: Running,
    address: SocketAddr,
}

impl Site {
    fn start() -> Self {
        Self::with("[[partition]]\nname = \"fixed\"\npkey = 0x70\nmembers = [\"ALL\"]\n")
    }

    /// With this part of a configuration.
    fn with(partitions: &str) -> Self {
        let sim = FabricServer::shape("star:3");
        let address = loopback::free(1)[0];
        let dir = sim.dir();
        let authority = Authority::default();
        authority.write(dir, "ca");
        let subject = Subject {
            names: &[&address.ip().to_string()],
            ..Subject::default()
        };
        authority.issue(dir, "server", subject);
        fs::write(dir.join("password"), "123456\n").unwrap();
        let config = dir.join("f.toml");
        let text = format!(
            "[ufm]\nlisten = \"{address}\"\ncertificate = \"server.crt\"\nkey = \"server.key\"\nuser = \"admin\"\n\
             password-file = \"password\"\n{partitions}"
        );
        fs::write(&config, text).unwrap();
        let config = config.display().to_string();
        let service = start(&sim, None, "sm", &["--config", &config]);
        wait_for_health(&sim, "sm", 0, &["OK"]);
        Self {
            sim,
            _service: service,
            address,
        }
    }

    /// Sends a call; returns the status and the JSON of the answer.
    fn call(&self, user: &str, path: &str, body: Option<&str>) -> (u16, Value) {
        let url = format!("https://{}{path}", self.address);
        let content = ["--header", "Content-Type: application/json; charset=utf-8"];
        let curl = Launch::new("curl")
            .args(&["--silent", "--show-error", "--cacert", "ca.crt"])
            .args(&["--user", user, "--write-out", "\n%{http_code}", &url])
            .args(&content);
        let curl = match body {
            Some(body) => curl.args(&["--data", body]),
            None => curl,
        };
        let sent = curl.start(self.sim.dir()).wait(GUARD).expect_success();
        let (body, status) = sent.stdout.rsplit_once('\n').unwrap();
        let body = serde_json::from_str(body).unwrap_or_else(|e| panic!("{e}: {body}"));
        (status.parse().unwrap(), body)
    }

    fn ask(&self, path: &str, body: Option<&str>) -> (u16, Value) {
        self.call("admin:123456", path, body)
    }

    /// The P_Keys of the port with a LID.
    fn p_keys(&self, lid: &Value) -> String {
        let lid = lid.to_string();
        self.sim
            .run("smpquery", &["pkeys", &lid, "1"])
            .expect_success()
            .stdout
    }
}

#[test]
fn ib_kubernetes_adds_and_removes_guids() {
    let site = Site::start();
    let (status, version) = site.ask("/ufmRest/app/ufm_version", None);
    assert_eq!(status, 200);
    assert!(version["ufm_release_version"].is_string(), "{version}");
    for wrong in ["admin:1234567", "root:123456"] {
        let (status, refused) = site.call(wrong, "/ufmRest/resources/pkeys", None);
        assert_eq!(status, 401, "{refused}");
    }

    let port = &json(&site.sim, "sm", &["where", "host-1"])["items"][0];
    let guid = port["port"]["guid"]
        .as_str()
        .unwrap()
        .trim_start_matches("0x")
        .to_owned();
    // The GUID of a virtual function that has no port yet.
    let virtual_guid = "0200000000000001";
    let add = format!(
        "{{\"pkey\": \"0x0051\", \"index0\": true, \"ip_over_ib\": true, \"membership\": \"full\", \"guids\": [\"{guid}\",\"{virtual_guid}\"]}}"
    );
    let (status, added) = site.ask("/ufmRest/resources/pkeys", Some(&add));
    assert_eq!(status, 200, "{added}");
    assert!(site.p_keys(&port["lid"]).contains("0x8051"));
    let list = "/ufmRest/resources/pkeys/?guids_data=true";
    let (status, listed) = site.ask(list, None);
    assert_eq!(status, 200);
    let of_partition = listed["0x51"]["guids"].as_array().unwrap();
    let guids: Vec<&str> = of_partition
        .iter()
        .map(|g| g["guid"].as_str().unwrap())
        .collect();
    assert_eq!(guids, [&*guid, virtual_guid]);
    assert_eq!(listed["0x51"]["ip_over_ib"], true, "{listed}");
    assert!(
        listed["0x70"]["guids"].as_array().unwrap().is_empty(),
        "{listed}"
    );
    // Again, as after a restart of ib-kubernetes.
    assert_eq!(site.ask("/ufmRest/resources/pkeys", Some(&add)).0, 200);

    let audit = fs::read_to_string(site.sim.dir().join("sm/audit.jsonl")).unwrap();
    assert!(audit.contains("\"by\":\"admin (127.0.0.1:"), "{audit}");

    let remove = |guid: &str| format!("{{\"pkey\": \"0x0051\", \"guids\": [\"{guid}\"]}}");
    let removal = "/ufmRest/actions/remove_guids_from_pkey";
    assert_eq!(site.ask(removal, Some(&remove(&guid))).0, 200);
    assert!(!site.p_keys(&port["lid"]).contains("0x8051"));
    assert_eq!(site.ask(removal, Some(&remove(virtual_guid))).0, 200);
    let (_, listed) = site.ask(list, None);
    assert!(listed["0x51"].is_null(), "{listed}");
}

/// A call that joins what an invariant separates is refused, as the same change by the API.
#[test]
fn invariants_hold_for_ufm_calls() {
    let site = Site::with(
        "[[partition]]\nname = \"fixed\"\npkey = 0x70\nmembers = [\"SELF\"]\n\
         [[invariant]]\nname = \"apart\"\nkind = \"isolated\"\nfrom = [\"host-1\"]\nto = [\"host-2\"]\n",
    );
    let add = |host: &str| {
        let port = &json(&site.sim, "sm", &["where", host])["items"][0];
        let guid = port["port"]["guid"]
            .as_str()
            .unwrap()
            .trim_start_matches("0x");
        let body = format!(
            "{{\"pkey\": \"0x0052\", \"index0\": false, \"ip_over_ib\": false, \"membership\": \"full\", \"guids\": [\"{guid}\"]}}"
        );
        let answer = site.ask("/ufmRest/resources/pkeys", Some(&body));
        (answer, site.p_keys(&port["lid"]))
    };
    let ((status, answer), p_keys) = add("host-1");
    assert_eq!(status, 200, "{answer}");
    assert!(p_keys.contains("0x8052"), "{p_keys}");
    let ((status, answer), p_keys) = add("host-2");
    assert_eq!(status, 409, "{answer}");
    assert!(answer.to_string().contains("apart"), "{answer}");
    assert!(!p_keys.contains("0x8052"), "{p_keys}");
}

/// What would change the configuration, or cannot be understood, is refused.
#[test]
fn other_calls_are_refused() {
    let site = Site::start();
    let add = |pkey: &str, guid: &str| {
        format!(
            "{{\"pkey\": \"{pkey}\", \"index0\": false, \"ip_over_ib\": false, \"membership\": \"full\", \"guids\": [\"{guid}\"]}}"
        )
    };
    let path = "/ufmRest/resources/pkeys";
    for (body, status, kind) in [
        (add("0x0070", "0200000000000001"), 409, "conflict"),
        (add("0x0000", "0200000000000001"), 400, "invalid-request"),
        (add("0x0052", "02:00"), 400, "invalid-request"),
        (
            "{\"pkey\": \"0x52\", \"guids\": [], \"sl\": 1}".to_owned(),
            400,
            "invalid-request",
        ),
    ] {
        let (found, refused) = site.ask(path, Some(&body));
        assert_eq!(
            (found, &refused["error"]["kind"]),
            (status, &kind.into()),
            "{body}: {refused}"
        );
    }
    let created = add("0x0052", "0200000000000001");
    assert_eq!(site.ask(path, Some(&created)).0, 200);
    let other = created.replace("\"index0\": false", "\"index0\": true");
    assert_eq!(site.ask(path, Some(&other)).0, 409);
    let url = format!("https://{}/ufmRest/resources/systems", site.address);
    let absent = Launch::new("curl")
        .args(&[
            "--silent",
            "--cacert",
            "ca.crt",
            "--user",
            "admin:123456",
            "--write-out",
            "%{http_code}",
            &url,
        ])
        .start(site.sim.dir())
        .wait(GUARD);
    assert_eq!(absent.stdout, "404");
}
