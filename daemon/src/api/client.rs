//! Asks a running service.

use core::fmt;
use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer};
use ferrosm_replication::https;
use ferrosm_replication::tls::TlsFiles;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use super::socket_to_ask;

/// Time until an answer is complete, beyond the time that a command may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
    /// No service listens there.
    NoService,
    /// The socket belongs to another user.
    PermissionDenied(PathBuf),
    /// The service answered with an error.
    Answered(ApiError),
    /// The service does not answer, or not in this protocol.
    Failed(String),
}

/// An answer, as JSON text and decoded.
#[derive(Debug)]
pub struct ReceivedAnswer<T> {
    pub json: String,
    pub answer: Answer<T>,
}

/// Where requests are sent.
#[derive(Debug, Clone)]
pub enum ApiEndpoint {
    /// The Unix socket of the service with a state directory.
    Local { state_dir: PathBuf },
    /// HTTPS.
    Remote {
        /// Without brackets.
        host: String,
        port: u16,
        files: TlsFiles,
    },
}

impl ApiEndpoint {
    /// The endpoint of an address such as `https://sm1:7473`.
    ///
    /// # Errors
    /// If it is no such address.
    pub fn remote(url: &str, files: TlsFiles) -> Result<Self, String> {
        let invalid = || format!("`{url}` is no address such as https://sm1:7473");
        let uri: Uri = url.parse().map_err(|_| invalid())?;
        let is_bare = uri.scheme_str() == Some("https") && ["", "/"].contains(&uri.path());
        let host = uri.host().unwrap_or_default();
        let port = uri.port_u16().filter(|_| is_bare && !host.is_empty());
        Ok(Self::Remote {
            // An IPv6 address has brackets in a URL.
            host: host.trim_matches(['[', ']']).to_owned(),
            port: port.ok_or_else(invalid)?,
            files,
        })
    }
}

impl fmt::Display for ApiEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { state_dir } => write!(f, "state directory {}", state_dir.display()),
            Self::Remote { host, port, .. } => write!(f, "address {host} port {port}"),
        }
    }
}

/// A request to a service.
#[derive(Debug)]
pub struct Call<'a> {
    pub endpoint: &'a ApiEndpoint,
    pub method: Method,
    /// Path below the version.
    pub resource: &'a str,
    /// Percent-encoded when it is sent.
    pub query: &'a [(&'a str, String)],
    /// How long a command may take.
    pub wait: Duration,
}

/// Percent-encodes a part of a path, or a value of a query.
#[must_use]
pub fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

impl Call<'_> {
    /// Sends the request, and waits for the answer.
    ///
    /// # Errors
    /// If no service answers, or it answers with an error.
    pub fn send<T: DeserializeOwned>(&self) -> Result<ReceivedAnswer<T>, AskError> {
        self.send_body(Vec::new())
    }

    /// Sends the request with a body, and waits for the answer.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn send_body<T: DeserializeOwned>(
        &self,
        body: Vec<u8>,
    ) -> Result<ReceivedAnswer<T>, AskError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| AskError::Failed(e.to_string()))?;
        let timeout = self.wait.saturating_add(ANSWER_TIMEOUT);
        let exchanged =
            runtime.block_on(async { tokio::time::timeout(timeout, self.exchange(body)).await });
        let (status, body) =
            exchanged.map_err(|_| AskError::Failed(format!("no answer within {timeout:?}")))??;
        if !status.is_success() {
            let error: Result<ErrorAnswer, _> = serde_json::from_slice(&body);
            return Err(match error {
                Ok(answer) => AskError::Answered(answer.error),
                Err(_) => AskError::Failed(format!("status {status}")),
            });
        }
        let invalid = |e: serde_json::Error| AskError::Failed(format!("invalid answer: {e}"));
        let answer = serde_json::from_slice(&body).map_err(invalid)?;
        let value: serde_json::Value = serde_json::from_slice(&body).map_err(invalid)?;
        let json = serde_json::to_string_pretty(&value).map_err(invalid)?;
        Ok(ReceivedAnswer { json, answer })
    }

    fn target(&self) -> String {
        let mut target = format!("{}/{}", ferrosm_api::PREFIX, self.resource);
        for (i, (name, value)) in self.query.iter().enumerate() {
            target.push(if i == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            target.push_str(&encoded(value));
        }
        target
    }

    async fn exchange(&self, body: Vec<u8>) -> Result<(StatusCode, Bytes), AskError> {
        match self.endpoint {
            ApiEndpoint::Local { state_dir } => {
                let socket = socket_to_ask(state_dir);
                let stream = UnixStream::connect(&socket)
                    .await
                    .map_err(|e| connect_error(&e, &socket))?;
                self.exchange_on(stream, body).await
            }
            ApiEndpoint::Remote { host, port, files } => {
                let failed = |e: &dyn fmt::Display| AskError::Failed(e.to_string());
                let config = https::client_config(files).map_err(|e| failed(&e))?;
                let name = ServerName::try_from(host.clone()).map_err(|e| failed(&e))?;
                let stream = TcpStream::connect((&**host, *port))
                    .await
                    .map_err(|e| connect_error(&e, Path::new(host)))?;
                let connector = TlsConnector::from(Arc::new(config));
                let stream = connector
                    .connect(name, stream)
                    .await
                    .map_err(|e| failed(&format!("no TLS connection: {e}")))?;
                self.exchange_on(stream, body).await
            }
        }
    }

    async fn exchange_on(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        body: Vec<u8>,
    ) -> Result<(StatusCode, Bytes), AskError> {
        let failed = |e: hyper::Error| match e.is_incomplete_message() {
            true => AskError::Failed("the service ended before it answered".to_owned()),
            false => AskError::Failed(e.to_string()),
        };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(failed)?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(&self.method)
            .uri(self.target())
            .header(HOST, "ferrosm")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|e| AskError::Failed(e.to_string()))?;
        let response = sender.send_request(request).await.map_err(failed)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(failed)?;
        Ok((status, body.to_bytes()))
    }
}

/// Why there is no connection.
fn connect_error(e: &io::Error, place: &Path) -> AskError {
    let kind = e.kind();
    if kind == io::ErrorKind::NotFound || kind == io::ErrorKind::ConnectionRefused {
        AskError::NoService
    } else if kind == io::ErrorKind::PermissionDenied {
        AskError::PermissionDenied(place.to_owned())
    } else {
        AskError::Failed(e.to_string())
    }
}
