//! Real etcd processes (Debian's `etcd-server`) in a temporary directory, and a proxy to a member
//! that can stop forwarding.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ferrosm_replication::tls::TlsFiles;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::loopback;
use super::memory::until;

/// The members of a cluster. On drop they stop and their data is deleted.
pub(crate) struct Cluster {
    dir: PathBuf,
    members: Vec<Member>,
    secure: bool,
    /// Database quota in bytes.
    bytes: Option<u32>,
}

struct Member {
    client: SocketAddr,
    peer: SocketAddr,
    process: Option<Child>,
}

impl Cluster {
    /// Starts a cluster of this size, and waits until it serves.
    pub(crate) fn new(members: usize) -> Self {
        Self::start_all(members, false, None)
    }

    /// A cluster of one member with a database quota.
    pub(crate) fn with_quota(bytes: u32) -> Self {
        Self::start_all(1, false, Some(bytes))
    }

    /// A cluster of one member that requires client certificates of the CA of "node".
    pub(crate) fn with_certificates() -> Self {
        Self::start_all(1, true, None)
    }

    fn start_all(members: usize, secure: bool, bytes: Option<u32>) -> Self {
        static CLUSTERS: AtomicU32 = AtomicU32::new(0);
        let number = CLUSTERS.fetch_add(1, Ordering::SeqCst);
        let name = format!("ferrosm-etcd-{}-{number}", std::process::id());
        // In memory if possible: etcd syncs its disk at each write, which takes seconds when other
        // tests run.
        let memory = PathBuf::from("/dev/shm");
        let dir = if memory.is_dir() {
            memory
        } else {
            std::env::temp_dir()
        };
        let dir = dir.join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let addresses = loopback::free(members * 2);
        let member = |pair: &[SocketAddr]| Member {
            client: pair[0],
            peer: pair[1],
            process: None,
        };
        let mut cluster = Self {
            dir,
            members: addresses.chunks(2).map(member).collect(),
            secure,
            bytes,
        };
        if secure {
            cluster.sign("node");
            cluster.sign("foreign");
        }
        // A cluster serves when a majority is running.
        (0..members).for_each(|n| cluster.launch(n));
        (0..members).for_each(|n| cluster.wait_until_member_serves(n));
        cluster
    }

    /// Endpoints of the members.
    pub(crate) fn endpoints(&self) -> Vec<String> {
        let scheme = if self.secure { "https" } else { "http" };
        let client_url = |m: &Member| format!("{scheme}://{}", m.client);
        self.members.iter().map(client_url).collect()
    }

    /// Certificate files of a node.
    pub(crate) fn files(&self, name: &str) -> TlsFiles {
        let path = |extension: &str| self.dir.join(format!("{name}.{extension}"));
        TlsFiles {
            ca: path("ca"),
            certificate: path("crt"),
            key: path("key"),
        }
    }

    fn sign(&self, name: &str) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![loopback::address().to_string()]).unwrap();
        let certificate = params.signed_by(&key, &authority).unwrap();
        let files = self.files(name);
        std::fs::write(&files.ca, authority.pem()).unwrap();
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
    }

    /// Kills a member (SIGKILL).
    pub(crate) fn kill(&mut self, member: usize) {
        if let Some(mut process) = self.members[member].process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Deletes the data of a member.
    pub(crate) fn delete_data(&self, member: usize) {
        std::fs::remove_dir_all(self.data(member)).unwrap();
    }

    /// Restarts a killed member and waits until it serves.
    pub(crate) fn start(&mut self, member: usize) {
        self.launch(member);
        self.wait_until_member_serves(member);
    }

    /// Deletes a key, as another client would.
    pub(crate) fn delete(&self, key: &str) {
        let key = base64(key.as_bytes());
        self.post("deleterange", &format!("{{\"key\":\"{key}\"}}"));
    }

    /// Overwrites a key, as another client would.
    pub(crate) fn put_value(&self, key: &str, value: &[u8]) {
        let (key, value) = (base64(key.as_bytes()), base64(value));
        self.post(
            "put",
            &format!("{{\"key\":\"{key}\",\"value\":\"{value}\"}}"),
        );
    }

    /// The revision at which a key was created.
    pub(crate) fn create_revision(&self, key: &str) -> String {
        let key = base64(key.as_bytes());
        let response = self.post("range", &format!("{{\"key\":\"{key}\"}}"));
        let (_, tail) = response.split_once("\"create_revision\":\"").unwrap();
        tail.split_once('"').unwrap().0.to_owned()
    }

    fn post(&self, method: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(self.members[0].client).unwrap();
        let length = body.len();
        let request =
            format!("POST /v3/kv/{method} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}");
        socket.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        socket.read_to_string(&mut response).unwrap();
        assert!(response.contains("\"revision\""), "{response}");
        response
    }

    fn data(&self, member: usize) -> PathBuf {
        self.dir.join(format!("m{member}"))
    }

    fn launch(&mut self, member: usize) {
        let members = self.members.iter().enumerate();
        let members: Vec<_> = members
            .map(|(n, m)| format!("m{n}=http://{}", m.peer))
            .collect();
        let client = &self.endpoints()[member];
        let peer = format!("http://{}", self.members[member].peer);
        let log = File::create(self.dir.join(format!("m{member}.log"))).unwrap();
        let mut command = Command::new("etcd");
        command
            .args([
                "--name",
                &format!("m{member}"),
                "--logger",
                "zap",
                "--log-level",
                "warn",
            ])
            .arg("--data-dir")
            .arg(self.data(member))
            .args([
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
            ])
            .args([
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
            ])
            .args([
                "--initial-cluster",
                &members.join(","),
                "--initial-cluster-state",
                "new",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        if let Some(bytes) = self.bytes {
            command.args(["--quota-backend-bytes", &bytes.to_string()]);
        }
        if self.secure {
            let files = self.files("node");
            command
                .arg("--client-cert-auth")
                .arg("--trusted-ca-file")
                .arg(files.ca);
            command
                .arg("--cert-file")
                .arg(files.certificate)
                .arg("--key-file")
                .arg(files.key);
        }
        let process = command.spawn();
        let process =
            process.unwrap_or_else(|e| panic!("cannot start etcd (Debian: etcd-server): {e}"));
        self.members[member].process = Some(process);
    }

    /// Waits until a member serves and has a leader.
    fn wait_until_member_serves(&self, member: usize) {
        let at = self.members[member].client;
        let healthy = || {
            let Ok(mut socket) = TcpStream::connect(at) else {
                return false;
            };
            if self.secure {
                return true;
            }
            socket
                .set_read_timeout(Some(Duration::from_secs(1)))
                .unwrap();
            let mut response = String::new();
            // It may still be starting.
            let _ = socket.write_all(b"GET /health HTTP/1.0\r\n\r\n");
            let _ = socket.read_to_string(&mut response);
            response.contains("\"true\"")
        };
        until("etcd serves", healthy);
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |chunk: &[u8]| {
        let byte = |n: usize| u32::from(chunk.get(n).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |n: usize| match n <= chunk.len() {
            true => char::from(DIGITS[(bits >> (18 - 6 * n)) as usize & 63]),
            false => '=',
        };
        (0..4).map(digit).collect::<String>()
    };
    bytes.chunks(3).map(digits).collect()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        (0..self.members.len()).for_each(|n| self.kill(n));
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// A proxy to a member that can stop forwarding; no data is lost.
pub(crate) struct StallingProxy {
    address: SocketAddr,
    open: Arc<(Mutex<bool>, Condvar)>,
}

impl StallingProxy {
    /// A proxy in front of a member. Its threads run until the test process ends.
    pub(crate) fn in_front_of(endpoint: &str) -> Self {
        let to: SocketAddr = endpoint.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind((loopback::address(), 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let open = Arc::new((Mutex::new(true), Condvar::new()));
        let gate = open.clone();
        std::thread::spawn(move || {
            for from in listener.incoming() {
                let (Ok(client), Ok(member)) = (from, TcpStream::connect(to)) else {
                    return;
                };
                let connections = [
                    (client.try_clone(), member.try_clone()),
                    (Ok(member), Ok(client)),
                ];
                for (from, to) in connections {
                    let (from, to, gate) = (from.unwrap(), to.unwrap(), gate.clone());
                    std::thread::spawn(move || forward_bytes(from, to, &gate));
                }
            }
        });
        Self { address, open }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops forwarding.
    pub(crate) fn stop(&self) {
        *self.open.0.lock().unwrap() = false;
    }

    /// Forwards the held data and all that follows.
    pub(crate) fn resume(&self) {
        *self.open.0.lock().unwrap() = true;
        self.open.1.notify_all();
    }
}

fn forward_bytes(mut from: TcpStream, mut to: TcpStream, gate: &(Mutex<bool>, Condvar)) {
    let mut bytes = [0; 1 << 14];
    loop {
        let read = from.read(&mut bytes).unwrap_or(0);
        let open = gate.0.lock().unwrap();
        drop(gate.1.wait_while(open, |open| !*open).unwrap());
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            // Close the other direction, too.
            let _ = to.shutdown(std::net::Shutdown::Both);
            return;
        }
    }
}
