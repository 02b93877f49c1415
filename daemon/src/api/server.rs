//! The Unix socket and the TCP listener of the API: who may connect.

use core::time::Duration;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::ConnectInfo;
use axum::{Extension, Router, middleware};
use ferrosm_api::access::ClientRole;
use ferrosm_replication::https::ServerTls;
use nix::unistd::Group;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio_rustls::rustls::ServerConnection;
use tracing::{debug, error, info, warn};

use super::access::{Client, ClientRoles};
use super::admission::{receive_body, refuse_pages};
use super::routes;
use super::ufm::{self, Login};
use super::web;
use super::{
    ADMINS_MAX, GROUP, OLD_SOCKET_NAME, PAGE_CLIENTS_MAX, REMOTE_OPERATORS_MAX, REMOTE_VIEWERS_MAX,
    Service, UFM_CLIENTS_MAX, VIEWERS_MAX,
};
use crate::config::Settings;
use crate::http::endpoint::{self, Slots};
use crate::http::{Closing, HttpThread};

/// What clients of versions before the API get.
const OLD_CLIENT_REPLY: &str = "{\"result\":\"failed\",\"reason\":\"invalid-request\",\"message\":\
    \"this service takes commands at its API (api.sock): use the ferrosm of its version\"}\n";

/// Time to receive the request of such a client.
const OLD_CLIENT_TIMEOUT: Duration = Duration::from_secs(1);

/// The sockets of the API. They are removed when this is dropped.
#[derive(Debug)]
pub struct ApiSockets {
    paths: Vec<PathBuf>,
}

impl Drop for ApiSockets {
    fn drop(&mut self) {
        for path in &self.paths {
            // The file may have been removed by hand.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Serves the API of a service: at the socket of a directory that only this process uses, over TCP,
/// and for clients of UFM, as configured. A failure is logged.
#[must_use]
pub fn start(
    http: &HttpThread,
    dir: Option<&Path>,
    settings: &Settings,
    service: &Service,
) -> Option<ApiSockets> {
    start_tcp(http, settings, service);
    start_ufm(http, settings, service);
    start_page(http, settings, service);
    dir.map(|dir| start_sockets(http, &super::socket_to_serve(dir), dir, service))
}

fn start_sockets(
    http: &HttpThread,
    socket: &Path,
    state_dir: &Path,
    service: &Service,
) -> ApiSockets {
    let mut paths = Vec::new();
    match bind(socket) {
        Ok(listener) => {
            info!(socket = %socket.display(), "API started");
            let shared = socket.to_owned();
            // A name service may hang, and the SM must not wait for it.
            let thread = std::thread::Builder::new().name("api-group".to_owned());
            if let Err(error) = thread.spawn(move || share_with_group(&shared)) {
                let effect = "members of the group cannot ask the service";
                warn!(%error, group = GROUP, effect, "cannot share the API socket");
            }
            let router = router(service);
            let roles = service.client_roles.clone();
            http.serve(|closing| serve(listener, router, roles, closing));
            paths.push(socket.to_owned());
        }
        Err(error) => {
            let effect = "`ferrosm status` and other commands for the service do not work";
            warn!(%error, path = %socket.display(), effect, "cannot serve the API");
        }
    }
    let old_socket = state_dir.join(OLD_SOCKET_NAME);
    // Without it, old clients only say that no service runs.
    if let Ok(listener) = bind(&old_socket) {
        http.serve(|closing| refuse_old_clients(listener, closing));
        paths.push(old_socket);
    }
    ApiSockets { paths }
}

/// A socket that only its owner can connect to.
fn bind(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        // A service that was killed leaves its socket.
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Lets the members of [`GROUP`] connect, if the group exists.
fn share_with_group(path: &Path) {
    let Ok(Some(group)) = Group::from_name(GROUP) else {
        return;
    };
    let shared = chown(path, None, Some(group.gid.as_raw()))
        .and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(0o660)));
    match shared {
        Ok(()) => debug!(group = GROUP, "API socket shared"),
        Err(error) => {
            let effect = "members of the group cannot ask the service";
            warn!(%error, group = GROUP, effect, "cannot share the API socket");
        }
    }
}

fn router(service: &Service) -> Router {
    let receive = middleware::from_fn_with_state(service.clone(), receive_body);
    routes::router(service.clone()).layer(receive)
}

/// Serves the API over TCP, if an address is configured.
fn start_tcp(http: &HttpThread, settings: &Settings, service: &Service) {
    let Some(listen) = settings.api.listen else {
        return;
    };
    service.client_roles.configure(settings.api_clients.clone());
    let tls = Arc::new(ServerTls::read(settings.api_files()));
    let router = router(service).layer(middleware::from_fn(refuse_pages));
    let roles = service.client_roles.clone();
    let slots = RemoteSlots::new();
    let admit = move |connection: &ServerConnection, address| {
        let certificates = connection.peer_certificates();
        // The TLS library refuses clients without one.
        let own = certificates.and_then(<[_]>::first);
        let client = match own {
            Some(certificate) => Client::of_certificate(certificate, address),
            None => Client::without_name(address),
        };
        let slots = slots.of(roles.of(&client)).clone();
        (router.clone().layer(Extension(client)), slots)
    };
    http.serve(|closing| endpoint::serve_tls(listen, ferrosm_api::PREFIX, tls, admit, closing));
}

/// Connections over TCP. Clients that may only read, or have no role, cannot take those of
/// operators.
struct RemoteSlots {
    viewers: Slots,
    operators: Slots,
}

impl RemoteSlots {
    fn new() -> Self {
        Self {
            viewers: Slots::new(REMOTE_VIEWERS_MAX),
            operators: Slots::new(REMOTE_OPERATORS_MAX),
        }
    }

    const fn of(&self, role: Option<ClientRole>) -> &Slots {
        match role {
            None | Some(ClientRole::View) => &self.viewers,
            Some(ClientRole::Operate | ClientRole::Admin) => &self.operators,
        }
    }
}

/// Serves UFM's calls, if an address is configured. A failure is logged.
fn start_ufm(http: &HttpThread, settings: &Settings, service: &Service) {
    let Some(listen) = settings.ufm.listen else {
        return;
    };
    let login = match Login::read(&settings.ufm.user, &settings.ufm_password_file()) {
        Ok(login) => login,
        Err(error) => {
            let effect = "clients of UFM's calls are not served";
            error!(error, effect, "cannot read password");
            return;
        }
    };
    let tls = Arc::new(ServerTls::read(settings.ufm_files()));
    let receive = middleware::from_fn_with_state(service.clone(), receive_body);
    let router = ufm::router(service, login).layer(receive);
    let slots = Slots::new(UFM_CLIENTS_MAX);
    let admit = move |_: &ServerConnection, address| {
        let router = router.clone().layer(Extension(ConnectInfo(address)));
        (router, slots.clone())
    };
    http.serve(|closing| endpoint::serve_tls(listen, "/ufmRest", tls, admit, closing));
}

/// Serves the page, if an address is configured.
fn start_page(http: &HttpThread, settings: &Settings, service: &Service) {
    let Some(listen) = settings.web else {
        return;
    };
    let router = web::router(service);
    let slots = Slots::new(PAGE_CLIENTS_MAX);
    let sessions = service.sessions.clone();
    http.serve(|closing| {
        let bound = move |address| sessions.served_at(address);
        endpoint::serve_tcp(listen, "/", router, slots, bound, closing)
    });
}

async fn serve(
    listener: std::os::unix::net::UnixListener,
    router: Router,
    roles: ClientRoles,
    closing: Closing,
) {
    let listener = match UnixListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            warn!(%error, "cannot serve the API");
            return;
        }
    };
    let admins = Slots::new(ADMINS_MAX);
    let viewers = Slots::new(VIEWERS_MAX);
    let admit = move |stream: &tokio::net::UnixStream| {
        let client = Client::of_socket(&stream.peer_cred()?);
        let slots = if is_admin(&client, &roles) {
            &admins
        } else {
            &viewers
        };
        Ok((router.clone().layer(Extension(client)), slots.clone()))
    };
    endpoint::serve_unix(listener, admit, closing).await;
}

fn is_admin(client: &Client, roles: &ClientRoles) -> bool {
    roles.of(client) == Some(ClientRole::Admin)
}

/// Tells clients of versions before the API what to use.
async fn refuse_old_clients(listener: std::os::unix::net::UnixListener, mut closing: Closing) {
    let Ok(listener) = UnixListener::from_std(listener) else {
        return;
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = closing.changed() => return,
        };
        match accepted {
            Ok((mut stream, _)) => {
                // It fits into the buffer of the socket. The request is received before the socket
                // is closed, because the client would see a reset otherwise. Failures: the client
                // is gone.
                let _ = stream.write_all(OLD_CLIENT_REPLY.as_bytes()).await;
                let mut request = [0; 1024];
                let _ = tokio::time::timeout(OLD_CLIENT_TIMEOUT, stream.read(&mut request)).await;
            }
            Err(_) => tokio::time::sleep(OLD_CLIENT_TIMEOUT).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use crate::api::REQUEST_BODY_MAX;
    use crate::api::commands::SmRequest;
    use ferrosm_core::{Command, CommandOutcome};
    use tempfile::TempDir;

    use super::*;

    /// A service with its sockets in a directory.
    struct Served {
        dir: TempDir,
        service: Service,
        _sockets: ApiSockets,
        _http: HttpThread,
    }

    impl Served {
        fn start_sockets() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let service = Service::default();
            let http = HttpThread::start().unwrap();
            let socket = dir.path().join("api.sock");
            let sockets = start_sockets(&http, &socket, dir.path(), &service);
            Self {
                dir,
                service,
                _sockets: sockets,
                _http: http,
            }
        }

        fn connect(&self, socket: &str) -> UnixStream {
            UnixStream::connect(self.dir.path().join(socket)).unwrap()
        }

        /// Sends a request on a connection that then closes; returns the response.
        fn exchange(&self, request: &str) -> String {
            let mut stream = self.connect("api.sock");
            stream.write_all(request.as_bytes()).unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            response
        }

        fn call(&self, method: &str, target: &str) -> String {
            let end = "Host: a\r\nConnection: close\r\n\r\n";
            self.exchange(&format!("{method} {target} HTTP/1.1\r\n{end}"))
        }

        /// Executes commands on a thread: sweeps are complete, reroutes are dropped, others never
        /// end. Returns what it executed when the service refuses commands.
        fn execute(&self) -> std::thread::JoinHandle<Vec<Command>> {
            let mut requests = self.service.accept_commands();
            let log = self.service.commands.clone();
            std::thread::spawn(move || {
                let mut executed = Vec::new();
                let mut pending = Vec::new();
                while let Some(request) = requests.blocking_recv() {
                    let SmRequest::Execute(request) = request else {
                        continue;
                    };
                    executed.push(request.command.clone());
                    match &request.command {
                        Command::Sweep | Command::Exclude => {
                            let outcome = CommandOutcome::Swept {
                                number: 2,
                                problems: Vec::new(),
                                dropped_lids: 0,
                            };
                            log.end(request.id, &Ok(outcome.clone()));
                            let _ = request.result.send(Ok(outcome));
                        }
                        Command::Refresh => {
                            let _ = request.result.send(Ok(CommandOutcome::Refreshed));
                        }
                        Command::Reroute => drop(request),
                        Command::Handover
                        | Command::Takeover
                        | Command::AcceptRemoval(_)
                        | Command::Stop
                        | Command::Change(_)
                        | Command::Rotate(..) => pending.push(request),
                    }
                }
                executed
            })
        }
    }

    fn assert_refused(response: &str, status: u16, kind: &str) {
        let head = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&head), "{response}");
        let kind = format!("\"kind\":\"{kind}\"");
        assert!(response.contains(&kind), "{response}");
    }

    /// Clients that only read take no connection of an operator.
    #[test]
    fn viewers_leave_connections_for_operators() {
        let slots = RemoteSlots::new();
        let mut taken = Vec::new();
        for role in [None, Some(ClientRole::View)].into_iter().cycle() {
            match slots.of(role).take() {
                Some(slot) => taken.push(slot),
                None => break,
            }
        }
        assert_eq!(taken.len(), REMOTE_VIEWERS_MAX);
        for role in [ClientRole::Operate, ClientRole::Admin] {
            assert!(slots.of(Some(role)).take().is_some(), "{role:?}");
        }
    }

    /// Before the fabric is discovered, the service answers for itself; errors are JSON; idle and
    /// broken clients do not keep others waiting.
    #[test]
    fn starting_service_answers() {
        let served = Served::start_sockets();
        let idle: Vec<UnixStream> = (1..ADMINS_MAX)
            .map(|_| served.connect("api.sock"))
            .collect();
        let status = served.call("GET", "/v1/status");
        assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
        assert!(status.contains("\"role\":\"discovering\""), "{status}");
        let health = served.call("GET", "/v1/health");
        assert!(health.contains("\"state\":\"unknown\""), "{health}");
        for target in ["/v1/limits", "/v1/nodes", "/v1/paths?from=1&to=2"] {
            assert_refused(&served.call("GET", target), 503, "not-ready");
        }
        for (target, status, kind) in [
            ("/v1/absent", 404, "not-found"),
            ("/v1/paths?from=1", 400, "invalid-request"),
            ("/v1/links?limits=1", 400, "invalid-request"),
        ] {
            let refused = served.call("GET", target);
            assert_refused(&refused, status, kind);
            assert!(refused.contains("/v1/openapi.json"), "{refused}");
        }
        assert_refused(
            &served.call("POST", "/v1/status"),
            405,
            "method-not-allowed",
        );
        assert!(!served.exchange("\u{1}\r\n\r\n").contains("200"));
        drop(idle);
        let document = served.call("GET", "/v1/openapi.json");
        assert!(document.contains("\"openapi\":\"3.1.0\""), "{document}");
    }

    /// A command gets its result, or its number if it does not end in time; one that the service
    /// drops is reported as such.
    #[test]
    fn command_gets_its_result() {
        let served = Served::start_sockets();
        assert_refused(&served.call("POST", "/v1/sweep"), 503, "not-ready");
        let executed = served.execute();
        let swept = served.call("POST", "/v1/sweep?reason=why");
        assert!(swept.starts_with("HTTP/1.1 200 "), "{swept}");
        assert!(
            swept.contains("\"message\":\"sweep 2 complete\""),
            "{swept}"
        );
        assert!(swept.contains("\"reason\":\"why\""), "{swept}");
        assert_refused(&served.call("POST", "/v1/reroute"), 503, "stopping");
        let late = served.call("POST", "/v1/handover?wait_s=0");
        assert!(late.starts_with("HTTP/1.1 202 "), "{late}");
        assert!(late.contains("\"command\":3"), "{late}");
        let first = served.call("GET", "/v1/commands/1");
        assert!(first.contains("\"state\":\"complete\""), "{first}");
        assert_refused(&served.call("GET", "/v1/commands/9"), 404, "not-found");
        served.service.refuse_commands();
        let commands = executed.join().unwrap();
        assert_eq!(
            commands,
            [Command::Sweep, Command::Reroute, Command::Handover]
        );
        assert_refused(&served.call("POST", "/v1/sweep"), 503, "not-ready");
    }

    /// A fresh answer is of the time after the SM has read the fabric again; only answers that also
    /// have earlier times can be fresh.
    #[test]
    fn fresh_answer_follows_a_read() {
        let served = Served::start_sockets();
        assert_refused(
            &served.call("GET", "/v1/status?fresh=true"),
            503,
            "not-ready",
        );
        let executed = served.execute();
        let fresh = served.call("GET", "/v1/status?fresh=true");
        assert!(fresh.starts_with("HTTP/1.1 200 "), "{fresh}");
        let now = served.call("GET", "/v1/status?fresh=false");
        assert!(now.starts_with("HTTP/1.1 200 "), "{now}");
        for target in [
            "/v1/status?fresh=yes",
            "/v1/status?fresh=true&at=2026-11-30T00:00:00Z",
            "/v1/alarms?fresh=true",
            "/v1/commands/1?fresh=true&fresh=true",
        ] {
            let status = if target.contains("commands") {
                404
            } else {
                400
            };
            let refused = served.call("GET", target);
            assert!(
                refused.starts_with(&format!("HTTP/1.1 {status} ")),
                "{refused}"
            );
        }
        served.service.refuse_commands();
        assert_eq!(executed.join().unwrap(), [Command::Refresh]);
    }

    /// Invalid queries and long bodies are refused before anything is executed.
    #[test]
    fn invalid_commands_are_refused() {
        let served = Served::start_sockets();
        let executed = served.execute();
        let long = "x".repeat(600);
        for query in ["wait_s=86401", "wait=1", &format!("reason={long}")] {
            let refused = served.call("POST", &format!("/v1/sweep?{query}"));
            assert_refused(&refused, 400, "invalid-request");
        }
        let changed = served.call("POST", "/v1/sweep?expect_revision=1");
        assert_refused(&changed, 409, "changed");
        let body = "x".repeat(REQUEST_BODY_MAX + 1);
        let head = format!(
            "Host: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let long = served.exchange(&format!("POST /v1/sweep HTTP/1.1\r\n{head}{body}"));
        assert_refused(&long, 400, "invalid-request");
        served.service.refuse_commands();
        assert_eq!(executed.join().unwrap(), []);
    }

    /// Changes of the configuration need a keeper and a valid query; their body may be longer than
    /// others.
    #[test]
    fn changes_of_the_configuration_are_checked() {
        let served = Served::start_sockets();
        let post = |target: &str, body: &str| {
            let len = body.len();
            let head = format!("Host: a\r\nConnection: close\r\nContent-Length: {len}\r\n\r\n");
            served.exchange(&format!("POST {target} HTTP/1.1\r\n{head}{body}"))
        };
        let confirm = post("/v1/config/1/confirm", "");
        assert_refused(&confirm, 503, "not-ready");
        let toml = "#".repeat(2 * REQUEST_BODY_MAX);
        let long = format!("{{\"name\":\"f.toml\",\"toml\":\"{toml}\"}}");
        assert_refused(&post("/v1/config", &long), 503, "not-ready");
        for (target, body) in [
            ("/v1/config", ""),
            ("/v1/config", "{\"toml\":\"\"}"),
            ("/v1/config/x/confirm", ""),
            ("/v1/config/1/rollback?confirm_within_s=0", ""),
            ("/v1/config/1/rollback?within=1", ""),
            ("/v1/config/1/confirm", &*long),
        ] {
            assert_refused(&post(target, body), 400, "invalid-request");
        }
        let history = served.call("GET", "/v1/config");
        assert!(history.contains("\"items\":[]"), "{history}");
    }

    /// A client of a version before the API gets a reply that names the API.
    #[test]
    fn old_client_gets_the_name_of_the_api() {
        let served = Served::start_sockets();
        let mut client = served.connect(OLD_SOCKET_NAME);
        client
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        client.write_all(b"{\"command\":\"sweep\"}\n").unwrap();
        let mut reply = String::new();
        client.read_to_string(&mut reply).unwrap();
        assert!(reply.contains("\"result\":\"failed\""), "{reply}");
        assert!(reply.contains("api.sock"), "{reply}");
    }

    /// Sockets are removed with the server; one left by a killed service is replaced.
    #[test]
    fn sockets_are_removed() {
        let served = Served::start_sockets();
        let socket = served.dir.path().join("api.sock");
        assert!(socket.exists());
        let Served {
            dir,
            _sockets: sockets,
            _http: http,
            service,
        } = served;
        drop(sockets);
        assert!(!socket.exists());
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        let _sockets = start_sockets(&http, &socket, dir.path(), &service);
        UnixStream::connect(&socket).unwrap();
    }
}
