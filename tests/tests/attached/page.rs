//! The page (`[web]`), asked by curl: links of `ferrosm web login`, sessions, and requests of other
//! users, other pages and other host names.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::loopback;
use ferrosm_tests::programs::paths::workspace;
use ferrosm_tests::programs::process::{Finished, Launch, Running, poll_until};
use ferrosm_tests::programs::scratch::Scratch;
use serde_json::Value;

use super::api::{GUARD, PAUSE, ask, json, start, state_dir, wait_for_health};

/// A service with a page.
struct PageSite {
    sim: FabricServer,
    address: SocketAddr,
    _service: Running,
}

/// A response.
#[derive(Debug)]
struct Response {
    status: u16,
    /// Header lines in lower case.
    head: String,
    body: String,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// What a session sends.
struct PageLogin {
    cookie: String,
    token: String,
}

impl PageSite {
    fn start() -> Self {
        Self::start_with("fat-tree2:4,4,2")
    }

    fn start_with(shape: &str) -> Self {
        let sim = FabricServer::shape(shape);
        let address = loopback::free(1)[0];
        let config = sim.dir().join("f.toml");
        fs::write(&config, format!("[web]\nlisten = \"{address}\"\n")).unwrap();
        let config = config.display().to_string();
        let service = start(&sim, None, "sm", &["--config", &config]);
        wait_for_health(&sim, "sm", 0, &["OK"]);
        Self {
            sim,
            address,
            _service: service,
        }
    }

    /// A request with these headers.
    fn request(&self, method: &str, target: &str, headers: &[&str], body: &str) -> Response {
        let mut args = vec!["--silent", "--show-error", "--include", "--request", method];
        for header in headers {
            args.extend(["--header", header]);
        }
        if !body.is_empty() {
            args.extend(["--header", "content-type: application/json", "--data", body]);
        }
        let url = format!("http://{}{target}", self.address);
        let asked = Launch::new("curl")
            .args(&args)
            .args(&[&url])
            .start(self.sim.dir())
            .wait(GUARD)
            .expect_success();
        let text = asked.stdout.replace("\r\n", "\n");
        let (head, body) = text.split_once("\n\n").unwrap();
        let status = head.split_whitespace().nth(1).unwrap();
        Response {
            status: status.parse().unwrap(),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// A link, and what follows `#login=` in it.
    fn link(&self, args: &[&str]) -> String {
        let answer = json(&self.sim, "sm", &[&["web", "login"], args].concat());
        let url = answer["url"].as_str().unwrap();
        let beginning = format!("http://{}/#login=", self.address);
        url.strip_prefix(&beginning).unwrap().to_owned()
    }

    fn open(&self, link: &str, headers: &[&str]) -> Response {
        let body = format!("{{\"link\": \"{link}\"}}");
        self.request("POST", "/session", headers, &body)
    }

    fn log_in(&self, args: &[&str]) -> PageLogin {
        let opened = self.open(&self.link(args), &[]);
        assert_eq!(opened.status, 200, "{opened:?}");
        let mut lines = opened.head.lines();
        let set = lines.find(|line| line.starts_with("set-cookie: ")).unwrap();
        for attribute in ["httponly", "samesite=strict", "path=/"] {
            assert!(set.contains(attribute), "{set}");
        }
        // Header lines are in lower case; the value of the cookie is not.
        let jar = self.sim.dir().join("jar");
        let url = format!("http://{}/session", self.address);
        let body = format!("{{\"link\": \"{}\"}}", self.link(args));
        let jar_name = jar.display().to_string();
        let opened = Launch::new("curl")
            .args(&["--silent", "--cookie-jar", &jar_name, "--data", &body, &url])
            .start(self.sim.dir())
            .wait(GUARD)
            .expect_success();
        let session: Value = serde_json::from_str(&opened.stdout).unwrap();
        let jar = fs::read_to_string(jar).unwrap();
        let fields: Vec<&str> = jar.lines().last().unwrap().split('\t').collect();
        PageLogin {
            cookie: format!("cookie: {}={}", fields[5], fields[6]),
            token: format!("x-ferrosm-token: {}", session["token"].as_str().unwrap()),
        }
    }

    fn get(&self, login: &PageLogin, target: &str) -> Response {
        self.request("GET", target, &[&login.cookie, &login.token], "")
    }
}

fn assert_refused(response: &Response, status: u16, kind: &str, remedy: &str) {
    let body = response.json();
    let found = (response.status, body["error"]["kind"].as_str());
    assert_eq!(found, (status, Some(kind)), "{response:?}");
    let text = body["error"]["remedy"].as_str().unwrap();
    assert!(text.contains(remedy), "{response:?}");
}

/// Without a session there are only the files of the page. A link opens one session; both parts of
/// it are needed. The session ends with DELETE.
#[test]
fn link_opens_the_page_once() {
    let site = PageSite::start();
    let index = site.request("GET", "/", &[], "");
    assert_eq!(index.status, 200);
    assert!(index.body.contains("<script"), "{index:?}");
    let policy = "content-security-policy: default-src 'none'; script-src 'self'";
    for header in [
        policy,
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "frame-ancestors 'none'",
    ] {
        assert!(index.head.contains(header), "{header}: {index:?}");
    }
    for target in ["/v1/status", "/v1/nodes", "/session", "/absent"] {
        let refused = site.request("GET", target, &[], "");
        assert_refused(&refused, 401, "not-logged-in", "ferrosm web login");
    }
    assert_refused(&site.open("guess", &[]), 401, "not-logged-in", "again");
    let link = site.link(&[]);
    assert_eq!(site.open(&link, &[]).status, 200);
    assert_refused(&site.open(&link, &[]), 401, "not-logged-in", "again");

    let login = site.log_in(&[]);
    let status = site.get(&login, "/v1/status");
    assert_eq!(status.json()["role"], "master", "{status:?}");
    assert!(
        status.head.contains("cache-control: no-store"),
        "{status:?}"
    );
    for headers in [[&*login.cookie], [&*login.token]] {
        let half = site.request("GET", "/v1/status", &headers, "");
        assert_refused(&half, 401, "not-logged-in", "ferrosm web login");
    }
    let own = site.get(&login, "/session").json();
    assert_eq!(own["role"], "admin", "{own}");
    let both = [&*login.cookie, &*login.token];
    assert_eq!(site.request("DELETE", "/session", &both, "").status, 204);
    assert_eq!(site.get(&login, "/v1/status").status, 401);
}

/// A request that another page sends is refused, with a valid session, too; so is one under a name
/// that resolves to this host.
#[test]
fn other_pages_and_names_are_refused() {
    let site = PageSite::start();
    let login = site.log_in(&[]);
    let with = |header: &str| {
        let headers = [&*login.cookie, &*login.token, header];
        let read = site.request("GET", "/v1/status", &headers, "");
        let write = site.request("POST", "/v1/sweep", &headers, "");
        (read, write)
    };
    for foreign in [
        "origin: http://evil.example",
        "origin: http://127.0.0.1:1",
        "origin: null",
        "sec-fetch-site: cross-site",
        "sec-fetch-site: same-site",
    ] {
        let (read, write) = with(foreign);
        assert_refused(&read, 403, "forbidden", "new tab");
        assert_refused(&write, 403, "forbidden", "new tab");
    }
    for host in ["host: evil.example", "host: 10.1.1.1:7475", "host:"] {
        let (read, write) = with(host);
        assert_eq!((read.status, write.status), (421, 421), "{host}");
        let page = site.request("GET", "/", &[host], "");
        assert_refused(&page, 421, "forbidden", "ssh -L");
    }
    let link = site.link(&[]);
    let stolen = site.open(&link, &["origin: http://evil.example"]);
    assert_refused(&stolen, 403, "forbidden", "new tab");
    assert_eq!(site.open(&link, &[]).status, 200, "the link is unused");

    // Through a tunnel, the host and the port have other names.
    let port = site.address.port();
    let tunnel = [
        &*login.token,
        "host: localhost:8080",
        "origin: http://localhost:8080",
        "sec-fetch-site: same-origin",
        &login.cookie.replace(&format!("-{port}="), "-8080="),
    ];
    let answered = site.request("POST", "/v1/sweep", &tunnel, "");
    assert_eq!(answered.status, 200, "{answered:?}");
    let commands = json(&site.sim, "sm", &["commands"]);
    let by = commands["items"][0]["by"].as_str().unwrap();
    assert!(by.ends_with(" (page)"), "{commands}");
}

/// A session has the role of its link, in the table of all clients of the API. Other users get no
/// link, and a session makes none.
#[test]
fn session_has_the_role_of_its_link() {
    let site = PageSite::start();
    let viewer = site.log_in(&["--role", "view"]);
    let headers = [&*viewer.cookie, &*viewer.token];
    assert_eq!(site.get(&viewer, "/v1/links").status, 200);
    let refused = site.request("POST", "/v1/sweep", &headers, "");
    assert_refused(&refused, 403, "forbidden", "role operate");
    let fresh = site.get(&viewer, "/v1/links?fresh=true");
    assert_refused(&fresh, 403, "forbidden", "role operate");
    let plan = site.get(&viewer, "/v1/plan");
    assert_refused(&plan, 403, "forbidden", "role operate");
    let operator = site.log_in(&["--role", "operate"]);
    let headers = [&*operator.cookie, &*operator.token];
    assert_eq!(site.request("POST", "/v1/sweep", &headers, "").status, 200);
    let refused = site.request("POST", "/v1/handover", &headers, "");
    assert_refused(&refused, 403, "forbidden", "role admin");
    let more = site.request("POST", "/v1/web/login?role=admin", &headers, "");
    assert_refused(&more, 403, "forbidden", "ferrosm web login");

    let socket = format!("{}/api.sock", state_dir(&site.sim, "sm"));
    let other_user = Launch::new("setpriv")
        .args(&["--reuid=65534", "--regid=65534", "--clear-groups", "curl"])
        .args(&["--silent", "--request", "POST", "--unix-socket", &socket])
        .args(&["http://ferrosm/v1/web/login"])
        .start(site.sim.dir())
        .wait(GUARD);
    assert!(!other_user.status.success(), "{}", other_user.describe());
    assert!(!other_user.stdout.contains("login"));
}

/// A service without `[web]` says what to set.
#[test]
fn login_without_a_page_says_what_to_set() {
    let sim = FabricServer::shape("star:2");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let refused = ask(&sim, "sm", &["web", "login"]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    let text = &refused.stderr;
    assert!(text.contains("the page is not served"), "{text}");
    assert!(text.contains("web.listen"), "{text}");
}

/// A demo with the page, and the link that it prints.
fn demo(dir: &Path, fabric: &str) -> (Running, String) {
    let binary = ferrosm_tests::programs::paths::ferrosm();
    let demo = Launch::new(binary)
        .args(&["demo", fabric, "--web"])
        .start(dir);
    let link = poll_until(GUARD, PAUSE, || {
        let log = demo.stderr();
        let found = log.split_once("link=").map(|(_, rest)| rest.to_owned());
        let link = found.and_then(|rest| rest.split_whitespace().next().map(str::to_owned));
        link.ok_or(log)
    });
    let link = link.unwrap().trim_matches('"').to_owned();
    (demo, link)
}

/// `demo --web` prints a link that opens the page of its fabric.
#[test]
fn demo_serves_the_page() {
    let dir = Scratch::new("page");
    let (_demo, link) = demo(dir.path(), "torus:3,3,1");
    let (url, secret) = link.split_once("/#login=").unwrap();
    let opened = Launch::new("curl")
        .args(&["--silent", "--show-error", &format!("{url}/session")])
        .args(&["--data", &format!("{{\"link\": \"{secret}\"}}")])
        .start(dir.path())
        .wait(GUARD)
        .expect_success();
    assert!(opened.stdout.contains("\"admin\""), "{}", opened.stdout);
}

/// Starts a script of `web/test`.
fn start_node(script: &str, args: &[&str], dir: &Path) -> Running {
    let web = workspace().join("web");
    assert!(
        web.join("node_modules/playwright-core").exists(),
        "packages of the page are missing: run scripts/test --install, or (cd web && npm ci)"
    );
    let script = web.join("test").join(script).display().to_string();
    Launch::new("node").args(&[&script]).args(args).start(dir)
}

/// Runs a script of `web/test`.
fn node(script: &str, args: &[&str], dir: &Path) -> Finished {
    start_node(script, args, dir).wait(GUARD).expect_success()
}

/// What the page computes itself: search, layouts, collapsed groups.
#[test]
fn page_finds_and_places_nodes() {
    let dir = Scratch::new("page");
    let run = node("units.mjs", &[], dir.path());
    assert!(run.stdout.contains("# fail 0"), "{}", run.describe());
}

/// The page in Chromium: all views, a drain, and axe-core without serious findings.
#[test]
fn page_works_in_a_browser() {
    let dir = Scratch::new("page");
    let (_demo, link) = demo(dir.path(), "fat-tree:4");
    let used = dir.path().display().to_string();
    let run = node("page.mjs", &[&link, &used], dir.path());
    assert!(run.stdout.contains("log out"), "{}", run.describe());
}

/// A fabric without a switch: the page says what to do.
#[test]
fn empty_fabric_says_what_to_do() {
    let dir = Scratch::new("page");
    let (_demo, link) = demo(dir.path(), "back-to-back");
    let used = dir.path().display().to_string();
    let run = node("empty.mjs", &[&link, &used], dir.path());
    assert!(run.stdout.contains("advice"), "{}", run.describe());
}

/// A link that goes down appears in the page without a reload; the slider shows the time before.
#[test]
fn page_shows_changes_as_they_happen() {
    let site = PageSite::start_with("fat-tree:4");
    let used = site.sim.subdir("browser").display().to_string();
    let link = format!("http://{}/#login={}", site.address, site.link(&[]));
    let mut run = start_node("live.mjs", &[&link, &used], site.sim.dir());
    let ready = poll_until(GUARD, PAUSE, || match run.ended() {
        Some(status) => panic!("{status}: {}", run.stderr()),
        None if run.stdout().contains("ready") => Ok(()),
        None => Err(run.stderr()),
    });
    ready.unwrap();
    drop(site.sim.execute("cut \"leaf-0-0\"[3]"));
    let run = run.wait(GUARD).expect_success();
    assert!(run.stdout.contains("earlier times"), "{}", run.describe());
}
