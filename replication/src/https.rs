//! TLS of HTTPS servers and clients: a certificate, and the CA of the peers, if any. TLS 1.3 only.
//!
//! Changed files are read again, as those of [`tls`](crate::tls) are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::pki_types::UnixTime;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, Error as TlsError, RootCertStore, ServerConfig};

use crate::tls::{
    CertificateNotice, DAY, FileError, TlsFiles, certificates, describe, file_error, pem_error,
};

/// Paths of the PEM files of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFiles {
    /// Certificate of the server, with intermediate certificates.
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// Certificates of the CAs of clients; `None` if clients need no certificate.
    pub client_ca: Option<PathBuf>,
}

/// The configuration of a client that shows a certificate.
///
/// # Errors
/// If a file cannot be used.
pub fn client_config(files: &TlsFiles) -> Result<ClientConfig, FileError> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|e| pem_error(&files.key, "private key", &e))?;
    let key_error = |e: TlsError| key_error(&files.certificate, &files.key, &e);
    ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(key_error)?
        .with_root_certificates(files.roots()?)
        .with_client_auth_cert(chain, key)
        .map_err(key_error)
}

/// The error of a certificate with its key.
fn key_error(certificate: &Path, key: &Path, e: &TlsError) -> FileError {
    let problem = if matches!(e, TlsError::InconsistentKeys(_)) {
        format!("not the key of {}", certificate.display())
    } else {
        describe(e)
    };
    file_error(key, problem)
}

/// The certificate of a server, which follows changes of its files.
#[derive(Debug)]
pub struct ServerTls {
    files: ServerFiles,
    state: Mutex<LoadedServer>,
}

type FileTimes = Vec<Option<SystemTime>>;

#[derive(Debug, Default)]
struct LoadedServer {
    file_times: FileTimes,
    /// The last usable files.
    config: Option<Arc<ServerConfig>>,
    /// Why the files cannot be used.
    error: Option<FileError>,
    /// When the end of the certificate was checked last, in seconds since 1970.
    checked_at_s: u64,
}

impl ServerTls {
    /// Reads the files. Unusable ones are logged, and read again at each connection.
    #[must_use]
    pub fn read(files: ServerFiles) -> Self {
        let tls = Self {
            files,
            state: Mutex::default(),
        };
        tls.current();
        tls
    }

    /// The configuration of a new connection; `None` if the files never were usable. New files that
    /// are unusable are logged once and not used.
    pub fn current(&self) -> Option<Arc<ServerConfig>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let file_times = self.files.times();
        // A corrected file need not have a newer time: its permissions may have changed.
        if file_times != state.file_times || state.config.is_none() {
            state.file_times = file_times;
            state.update(self.files.read(), &self.files.certificate);
        }
        let at = UnixTime::now();
        if state.checked_at_s.abs_diff(at.as_secs()) >= DAY.as_secs() {
            state.checked_at_s = at.as_secs();
            self.files.log_expiry(at);
        }
        state.config.clone()
    }
}

impl LoadedServer {
    fn update(&mut self, read: Result<ServerConfig, FileError>, certificate: &Path) {
        match read {
            Ok(config) => {
                let certificate = certificate.display();
                tracing::info!(%certificate, "server certificate loaded");
                self.config = Some(Arc::new(config));
                self.error = None;
            }
            Err(error) if self.error.as_ref() == Some(&error) => {}
            Err(error) => {
                let effect = match self.config {
                    Some(_) => "the earlier certificate stays in use",
                    None => "clients are disconnected until it is corrected",
                };
                tracing::error!(%error, effect, "cannot use server certificate");
                self.error = Some(error);
            }
        }
    }
}

impl ServerFiles {
    fn times(&self) -> FileTimes {
        let modified = |path: &PathBuf| std::fs::metadata(path)?.modified();
        [&self.certificate, &self.key]
            .into_iter()
            .chain(&self.client_ca)
            .map(|path| modified(path).ok())
            .collect()
    }

    fn read(&self) -> Result<ServerConfig, FileError> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|e| pem_error(&self.key, "private key", &e))?;
        let provider = Arc::new(ring::default_provider());
        let key_error = |e: TlsError| key_error(&self.certificate, &self.key, &e);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(key_error)?;
        let authenticating = match &self.client_ca {
            Some(ca) => {
                let roots = self.with_ca(ca).roots()?;
                let clients = WebPkiClientVerifier::builder_with_provider(roots, provider)
                    .build()
                    .map_err(|e| file_error(ca, e.to_string()))?;
                builder.with_client_cert_verifier(clients)
            }
            None => builder.with_no_client_auth(),
        };
        let mut config = authenticating
            .with_single_cert(chain, key)
            .map_err(key_error)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
    /// Logs that the certificate expires soon, or has expired.
    fn log_expiry(&self, at: UnixTime) {
        // Without roots: only the time of the own certificate is checked, not its CA.
        let no_roots = Arc::new(RootCertStore::empty());
        let provider = Arc::new(ring::default_provider());
        // Unreadable files are reported elsewhere.
        let chain = certificates(&self.certificate).unwrap_or_default();
        let files = self.with_ca(Path::new(""));
        match files.expiry_notice(&chain, &no_roots, &provider, at) {
            Some(CertificateNotice::ExpiresSoon(reason)) => {
                tracing::warn!(reason, "server certificate expires soon");
            }
            Some(CertificateNotice::Unusable(reason)) => {
                tracing::error!(reason, "server certificate expired");
            }
            None => {}
        }
    }

    fn with_ca(&self, ca: &Path) -> TlsFiles {
        TlsFiles {
            ca: ca.to_owned(),
            certificate: self.certificate.clone(),
            key: self.key.clone(),
        }
    }
}
