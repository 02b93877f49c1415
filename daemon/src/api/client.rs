//! Asks a running service.

use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};

use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

/// Time until an answer is complete, beyond the time that a command may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
    /// No service listens at the socket.
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

/// A request to the service at a socket.
#[derive(Debug)]
pub struct Call<'a> {
    pub socket: &'a Path,
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
        let stream = UnixStream::connect(self.socket).await.map_err(|e| {
            let kind = e.kind();
            if kind == io::ErrorKind::NotFound || kind == io::ErrorKind::ConnectionRefused {
                AskError::NoService
            } else if kind == io::ErrorKind::PermissionDenied {
                AskError::PermissionDenied(self.socket.to_owned())
            } else {
                AskError::Failed(e.to_string())
            }
        })?;
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
