//! Notifications by HTTP: a POST with JSON.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrosm_api::alarm::Notification;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::SendError;

/// Certificates of the system: Debian and its derivatives, Red Hat and its, SUSE.
const SYSTEM_CA_FILES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
];

/// Where to send, and how to check the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) ca: Option<PathBuf>,
}

impl Webhook {
    pub(super) async fn send(&self, notice: &Notification) -> Result<(), SendError> {
        let uri: Uri = self.url.parse().map_err(SendError::new)?;
        let host = uri.host().unwrap_or_default();
        // An IPv6 address has brackets in a URL.
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let is_tls = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let stream = TcpStream::connect((address, port))
            .await
            .map_err(|e| SendError::new(format!("cannot connect to {host}:{port}: {e}")))?;
        if !is_tls {
            return post(stream, &uri, notice).await;
        }
        let config = client_config(self.ca.as_deref())?;
        let name = ServerName::try_from(address.to_owned()).map_err(SendError::new)?;
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector
            .connect(name, stream)
            .await
            .map_err(|e| SendError::new(format!("no TLS connection to {host}:{port}: {e}")))?;
        post(stream, &uri, notice).await
    }
}

/// The files are read for each connection, so that renewed certificates are in use.
fn client_config(ca: Option<&Path>) -> Result<ClientConfig, SendError> {
    let system = SYSTEM_CA_FILES.map(Path::new);
    let file = ca.or_else(|| system.into_iter().find(|file| file.exists()));
    let Some(file) = file else {
        return Err(SendError::new(
            "no file with the CA certificates of this system: name one by `ca`",
        ));
    };
    let unreadable = |e| SendError::new(format!("cannot read {}: {e}", file.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
        // One unusable certificate of the system does not exclude the others.
        let _ = roots.add(certificate.map_err(unreadable)?);
    }
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(SendError::new)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

async fn post<S>(stream: S, uri: &Uri, notice: &Notification) -> Result<(), SendError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let body = serde_json::to_vec(notice).map_err(SendError::new)?;
    let target = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let request = Request::builder()
        .method(Method::POST)
        .uri(target)
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("ferrosm/", env!("CARGO_PKG_VERSION")))
        .body(Full::new(Bytes::from(body)))
        .map_err(SendError::new)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(SendError::new)?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await;
    // The body of the response is not read.
    connection.abort();
    let status = response.map_err(SendError::new)?.status();
    match status.is_success() {
        true => Ok(()),
        false => Err(SendError::new(format!("the server answered {status}"))),
    }
}
