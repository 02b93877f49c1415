//! Mutual authentication of nodes by certificates from files, signed by one CA. TLS 1.3 only.
//!
//! Changed files are read again, so certificates can be renewed while the program runs. Open
//! connections are not affected.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "non-exhaustive or long error enums of other crates"
)]

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use thiserror::Error;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, Error as TlsError, RootCertStore, ServerConfig,
};

/// Paths of the PEM files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the CAs that sign all nodes' certificates.
    pub ca: PathBuf,
    /// Certificate of this node, with intermediate certificates.
    pub certificate: PathBuf,
    /// Private key of this node.
    pub key: PathBuf,
}

/// Why a file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {problem}", path.display())]
pub struct FileError {
    /// The file.
    path: PathBuf,
    /// The reason.
    problem: String,
}

/// Why a certificate is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// It has expired or is not valid yet.
    Time,
    /// Any other reason.
    File,
}

impl Cause {
    const fn from_error(e: &TlsError) -> Self {
        use CertificateError as C;
        match e {
            TlsError::InvalidCertificate(
                C::Expired
                | C::ExpiredContext { .. }
                | C::NotValidYet
                | C::NotValidYetContext { .. },
            ) => Self::Time,
            _ => Self::File,
        }
    }
}

/// Time before expiry from which a warning is logged.
const EXPIRY_WARNING: Duration = Duration::from_secs(30 * DAY.as_secs());
/// Interval of repeated warnings.
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// TLS configurations for new connections.
#[derive(Debug, Clone)]
pub(crate) struct TlsConfigs {
    /// For incoming connections.
    pub(crate) server: Arc<ServerConfig>,
    /// For outgoing connections.
    pub(crate) client: Arc<ClientConfig>,
}

/// Certificates that follow changes of their files.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    state: Mutex<TlsState>,
}

type FileTimes = [Option<SystemTime>; 3];

#[derive(Debug)]
struct TlsState {
    file_times: FileTimes,
    /// The last usable certificates.
    loaded: Option<LoadedCertificates>,
    /// Why no certificates are usable.
    error: Option<FileError>,
    /// When a warning was logged last.
    last_report: UnixTime,
}

/// Contents of the files.
#[derive(Debug)]
struct LoadedCertificates {
    configs: TlsConfigs,
    chain: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

/// A message about certificates for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CertificateNotice {
    /// They expire soon.
    ExpiresSoon(String),
    /// They are unusable.
    Unusable(String),
}

impl CertificateNotice {
    /// Logs the message.
    pub(crate) fn log(&self) {
        match self {
            Self::ExpiresSoon(reason) => {
                tracing::warn!(reason, "replication certificate expires soon")
            }
            Self::Unusable(reason) => tracing::error!(reason, "replication certificates unusable"),
        }
    }
}

impl Tls {
    /// Reads the files. Unusable files raise an alarm; the SM runs without replication, and the
    /// files are read again at each connection.
    #[must_use]
    pub(crate) fn read(files: TlsFiles) -> Self {
        let file_times = files.file_times();
        let last_report = UnixTime::now();
        let (loaded, error) = match files.read() {
            Ok(loaded) => (Some(loaded), None),
            Err(error) => (None, Some(error)),
        };
        let state = TlsState {
            file_times,
            loaded,
            error,
            last_report,
        };
        let notice = state.notice(&files, last_report);
        notice.iter().for_each(CertificateNotice::log);
        let state = Mutex::new(state);
        Self { files, state }
    }

    /// The configurations for a new connection; `None` if the files never were usable. New files
    /// that are unusable are logged once and not used.
    pub(crate) fn current(&self) -> Option<TlsConfigs> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let file_times = self.files.file_times();
        // A corrected file need not have a newer time: its permissions may have changed.
        if file_times != state.file_times || state.loaded.is_none() {
            state.file_times = file_times;
            state.update(self.files.read(), &self.files, UnixTime::now());
        }
        state.loaded.as_ref().map(|loaded| loaded.configs.clone())
    }

    /// The message that is due, at most one a day.
    fn due_notice(&self, at: UnixTime) -> Option<CertificateNotice> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last_report.as_secs().abs_diff(at.as_secs()) < DAY.as_secs() {
            return None;
        }
        state.last_report = at;
        state.notice(&self.files, at)
    }

    /// Logs once a day if the certificates are unusable or expire soon. Must be called more often.
    pub(crate) fn log_daily(&self, at: UnixTime) {
        self.due_notice(at).iter().for_each(CertificateNotice::log);
    }
}

impl TlsState {
    /// Processes the result of reading the files again.
    fn update(
        &mut self,
        read: Result<LoadedCertificates, FileError>,
        files: &TlsFiles,
        at: UnixTime,
    ) {
        let notice = match read {
            Ok(loaded) => {
                tracing::info!("replication certificates reloaded");
                self.loaded = Some(loaded);
                self.error = None;
                self.notice(files, at)
            }
            Err(error) if self.loaded.is_some() => {
                tracing::warn!(%error, "new replication certificates rejected");
                return;
            }
            Err(error) if self.error.as_ref() == Some(&error) => return,
            Err(error) => {
                self.error = Some(error);
                self.notice(files, at)
            }
        };
        self.last_report = at;
        notice.iter().for_each(CertificateNotice::log);
    }

    fn notice(&self, files: &TlsFiles, at: UnixTime) -> Option<CertificateNotice> {
        match (&self.loaded, &self.error) {
            (Some(loaded), _) => {
                files.expiry_notice(&loaded.chain, &loaded.roots, &loaded.provider, at)
            }
            (None, Some(error)) => Some(CertificateNotice::Unusable(format!(
                "{error}; no replication until corrected"
            ))),
            (None, None) => None,
        }
    }
}

impl TlsFiles {
    fn file_times(&self) -> FileTimes {
        [&self.ca, &self.certificate, &self.key].map(|path| {
            std::fs::metadata(path)
                .and_then(|metadata| metadata.modified())
                .ok()
        })
    }

    /// The message due for a client's certificate. Only its expiry is checked: whether the servers
    /// accept it depends on their CA.
    #[cfg(any(feature = "etcd", test))]
    #[must_use]
    pub(crate) fn client_notice(&self, at: UnixTime) -> Option<CertificateNotice> {
        let roots = self.roots().ok()?;
        let chain = certificates(&self.certificate).ok()?;
        let provider = Arc::new(ring::default_provider());
        self.expiry_notice(&chain, &roots, &provider, at)
    }

    pub(crate) fn roots(&self) -> Result<Arc<RootCertStore>, FileError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.ca)? {
            roots
                .add(certificate)
                .map_err(|e| file_error(&self.ca, describe(&e)))?;
        }
        Ok(Arc::new(roots))
    }

    fn read(&self) -> Result<LoadedCertificates, FileError> {
        let roots = self.roots()?;
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|e| pem_error(&self.key, "private key", &e))?;
        let provider = Arc::new(ring::default_provider());
        self.verify(&chain, &roots, &provider)?;

        let tls_error = |e: TlsError| {
            file_error(
                &self.key,
                match e {
                    TlsError::InconsistentKeys(_) => {
                        format!("not the key of {}", self.certificate.display())
                    }
                    _ => describe(&e),
                },
            )
        };
        let clients = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| file_error(&self.ca, e.to_string()))?;
        let servers = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| file_error(&self.ca, e.to_string()))?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(tls_error)?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(tls_error)?;
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(tls_error)?
            .with_webpki_verifier(servers)
            .with_client_auth_cert(chain.clone(), key)
            .map_err(tls_error)?;
        let configs = TlsConfigs {
            server: Arc::new(server),
            client: Arc::new(client),
        };
        Ok(LoadedCertificates {
            configs,
            chain,
            roots,
            provider,
        })
    }

    /// A message if the certificate is invalid at this time, or will be soon.
    pub(crate) fn expiry_notice(
        &self,
        chain: &[CertificateDer<'static>],
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
        at: UnixTime,
    ) -> Option<CertificateNotice> {
        let expired = |at| match self.verify_at(chain, roots, provider, at) {
            Err((Cause::Time, error)) => Some(error),
            Err((Cause::File, _)) | Ok(()) => None,
        };
        if let Some(error) = expired(at) {
            return Some(CertificateNotice::Unusable(format!(
                "{error}; peers reject this node until it is renewed"
            )));
        }
        let soon = UnixTime::since_unix_epoch(Duration::from_secs(at.as_secs()) + EXPIRY_WARNING);
        expired(soon).map(|_| {
            let path = self.certificate.display();
            let days = EXPIRY_WARNING.as_secs() / DAY.as_secs();
            CertificateNotice::ExpiresSoon(format!(
                "{path}: the certificate, or one of its chain, expires within {days} days"
            ))
        })
    }

    /// Verifies, apart from its validity period, that peers will accept this node's certificate.
    fn verify(
        &self,
        chain: &[CertificateDer<'static>],
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<(), FileError> {
        match self.verify_at(chain, roots, provider, UnixTime::now()) {
            Err((Cause::File, error)) => Err(error),
            Err((Cause::Time, _)) | Ok(()) => Ok(()),
        }
    }

    fn verify_at(
        &self,
        chain: &[CertificateDer<'static>],
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
        at: UnixTime,
    ) -> Result<(), (Cause, FileError)> {
        let Some((own, intermediates)) = chain.split_first() else {
            let error = file_error(&self.certificate, "contains no certificate");
            return Err((Cause::File, error));
        };
        let map_error = |e: TlsError| {
            let error = file_error(
                &self.certificate,
                match e {
                    TlsError::InvalidCertificate(
                        CertificateError::UnknownIssuer | CertificateError::BadSignature,
                    ) => {
                        format!("not signed by the CA in {}", self.ca.display())
                    }
                    _ => describe(&e),
                },
            );
            (Cause::from_error(&e), error)
        };
        let parsed = ParsedCertificate::try_from(own).map_err(map_error)?;
        let algorithms = provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, intermediates, at, algorithms)
            .map_err(map_error)?;
        WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| (Cause::File, file_error(&self.ca, e.to_string())))?
            .verify_client_cert(own, intermediates, at)
            .map(|_| ())
            .map_err(map_error)
    }
}

pub(crate) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .map_err(|e| pem_error(path, "certificate", &e))?
        .collect::<Result<_, _>>()
        .map_err(|e| pem_error(path, "certificate", &e))?;
    if certificates.is_empty() {
        return Err(file_error(path, "contains no PEM certificate"));
    }
    Ok(certificates)
}

pub(crate) fn file_error(path: &Path, problem: impl Into<String>) -> FileError {
    FileError {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

pub(crate) fn pem_error(
    path: &Path,
    kind: &str,
    e: &tokio_rustls::rustls::pki_types::pem::Error,
) -> FileError {
    use tokio_rustls::rustls::pki_types::pem::Error as Pem;
    match e {
        Pem::Io(e) => file_error(path, format!("cannot read file: {e}")),
        Pem::NoItemsFound => file_error(path, format!("contains no PEM {kind}")),
        _ => file_error(path, format!("contains no valid {kind}: {e}")),
    }
}

/// A TLS error for the operator.
#[must_use]
pub(crate) fn describe(e: &TlsError) -> String {
    use CertificateError as C;
    match e {
        TlsError::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => {
            "certificate expired".to_owned()
        }
        TlsError::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. }) => {
            "certificate not valid yet (check the clock)".to_owned()
        }
        TlsError::InvalidCertificate(C::UnknownIssuer | C::BadSignature) => {
            "certificate not signed by this site's CA".to_owned()
        }
        TlsError::InvalidCertificate(C::NotValidForNameContext { expected, .. }) => format!(
            "certificate not valid for the name \"{}\" (see replication.server-name)",
            expected.to_str()
        ),
        TlsError::InvalidCertificate(C::InvalidPurpose | C::InvalidPurposeContext { .. }) => {
            "certificate not valid for both client and server authentication (serverAuth, clientAuth)"
                .to_owned()
        }
        TlsError::NoCertificatesPresented => "peer presented no certificate".to_owned(),
        TlsError::AlertReceived(alert) => format!("peer rejected this node's certificate ({alert:?})"),
        _ => e.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd,
    };

    fn authority() -> CertifiedIssuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    /// The error of these files, with `{dir}` for their directory.
    fn file_error_of(dir: &Path, files: [&str; 3]) -> String {
        let [ca, certificate, key] = files.map(|name| dir.join(name));
        let files = TlsFiles {
            ca,
            certificate,
            key,
        };
        let tls = Tls::read(files);
        let error = tls.state.lock().unwrap().error.clone();
        assert_eq!(tls.current().is_none(), error.is_some());
        error.map_or_else(
            || "usable".to_owned(),
            |error| error.to_string().replace(dir.to_str().unwrap(), "{dir}"),
        )
    }

    #[test]
    fn file_errors_name_the_file_and_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).unwrap();
        let (ca, other) = (authority(), authority());
        let key = KeyPair::generate().unwrap();
        let names = vec!["sm1".to_owned()];
        let params = CertificateParams::new(names).unwrap();
        let mut old = params.clone();
        old.not_before = date_time_ymd(2001, 1, 1);
        old.not_after = date_time_ymd(2002, 1, 1);
        write("ca", &ca.pem());
        write("other", &other.pem());
        write("sm1", &params.signed_by(&key, &ca).unwrap().pem());
        write("old", &old.signed_by(&key, &ca).unwrap().pem());
        write("key", &key.serialize_pem());
        write("wrong-key", &KeyPair::generate().unwrap().serialize_pem());
        write("empty", "nothing");

        assert_eq!(file_error_of(dir, ["ca", "sm1", "key"]), "usable");
        let missing = "cannot read file: No such file or directory (os error 2)";
        assert_eq!(
            file_error_of(dir, ["none", "sm1", "key"]),
            format!("{{dir}}/none: {missing}")
        );
        assert_eq!(
            file_error_of(dir, ["ca", "none", "key"]),
            format!("{{dir}}/none: {missing}")
        );
        assert_eq!(
            file_error_of(dir, ["ca", "sm1", "none"]),
            format!("{{dir}}/none: {missing}")
        );
        let empty = "{dir}/empty: contains no PEM certificate";
        assert_eq!(file_error_of(dir, ["empty", "sm1", "key"]), empty);
        assert_eq!(file_error_of(dir, ["ca", "empty", "key"]), empty);
        assert_eq!(
            file_error_of(dir, ["ca", "sm1", "empty"]),
            "{dir}/empty: contains no PEM private key"
        );
        // An expired certificate raises an alarm, but its files are usable.
        assert_eq!(file_error_of(dir, ["ca", "old", "key"]), "usable");
        assert_eq!(
            file_error_of(dir, ["other", "sm1", "key"]),
            "{dir}/sm1: not signed by the CA in {dir}/other"
        );
        assert_eq!(
            file_error_of(dir, ["ca", "sm1", "wrong-key"]),
            "{dir}/wrong-key: not the key of {dir}/sm1"
        );
    }

    /// Files of a certificate that is valid until this date.
    fn node(dir: &Path, ca: &CertifiedIssuer<'static, KeyPair>, until: (i32, u8, u8)) -> TlsFiles {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["sm1".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(until.0, until.1, until.2);
        let [ca_file, certificate, key_file] = ["ca", "sm1", "key"].map(|name| dir.join(name));
        std::fs::write(&ca_file, ca.pem()).unwrap();
        std::fs::write(&certificate, params.signed_by(&key, ca).unwrap().pem()).unwrap();
        std::fs::write(&key_file, key.serialize_pem()).unwrap();
        TlsFiles {
            ca: ca_file,
            certificate,
            key: key_file,
        }
    }

    /// Warnings are repeated for as long as the program runs.
    #[test]
    fn expiring_certificates_are_reported_daily() {
        let dir = tempfile::tempdir().unwrap();
        let files = node(dir.path(), &authority(), (2100, 1, 31));
        let path = files.certificate.display().to_string();
        let tls = Tls::read(files.clone());
        let end = date_time_ymd(2100, 1, 31).unix_timestamp();
        let before = |days: u64, s: u64| {
            let end = Duration::from_secs(u64::try_from(end).unwrap());
            let at = end - Duration::from_secs(days * 86_400) + Duration::from_secs(s);
            tls.due_notice(UnixTime::since_unix_epoch(at))
        };
        let soon = format!("{path}: the certificate, or one of its chain, expires within 30 days");
        let soon = Some(CertificateNotice::ExpiresSoon(soon));
        assert_eq!((before(40, 0), before(31, 0)), (None, None));
        for day in [29, 28, 2] {
            assert_eq!(before(day, 0), soon);
            assert_eq!((before(day, 3600), before(day, 86_000)), (None, None));
        }
        let expired =
            format!("{path}: certificate expired; peers reject this node until it is renewed");
        let expired = Some(CertificateNotice::Unusable(expired));
        assert_eq!(before(0, 3600), expired);
        assert_eq!(before(0, 7200), None);
        assert_eq!(before(0, 90_100), expired);
        // The clock was set back.
        assert_eq!(before(2, 0), soon);
        let of_client = |days: i64| {
            let at = u64::try_from(end - days * 86_400).unwrap();
            files.client_notice(UnixTime::since_unix_epoch(Duration::from_secs(at)))
        };
        let expected = [None, soon, expired];
        assert_eq!([31, 29, -1].map(of_client), expected);
        // The CA of the servers may be another one.
        std::fs::write(&files.ca, authority().pem()).unwrap();
        assert_eq!([31, 29, -1].map(of_client), expected);
    }

    /// The node starts during a renewal.
    #[test]
    fn unusable_files_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let ca = authority();
        let files = node(dir.path(), &ca, (2100, 1, 31));
        let key = std::fs::read(&files.key).unwrap();
        std::fs::remove_file(&files.key).unwrap();
        let tls = Tls::read(files.clone());
        assert!(tls.current().is_none() && tls.current().is_none());
        let at = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()) + DAY);
        let notice = tls.due_notice(at);
        assert!(
            matches!(&notice, Some(CertificateNotice::Unusable(text)) if text.ends_with("no replication until corrected")),
            "{notice:?}"
        );
        std::fs::write(&files.key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
        assert!(tls.current().is_none(), "another key");
        std::fs::write(&files.key, key).unwrap();
        assert!(tls.current().is_some());
        assert!(tls.state.lock().unwrap().error.is_none());
    }

    /// Renewed files are used from the next connection on; unusable ones are not.
    #[test]
    fn renewed_files_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let write = |name: &str, text: &str, age_s: u64| {
            std::fs::write(path(name), text).unwrap();
            let file = std::fs::File::options()
                .append(true)
                .open(path(name))
                .unwrap();
            let at = SystemTime::now() - Duration::from_secs(age_s);
            file.set_modified(at).unwrap();
        };
        let ca = authority();
        let key = KeyPair::generate().unwrap();
        let certificate = || {
            let params = CertificateParams::new(vec!["sm1".to_owned()]).unwrap();
            params.signed_by(&key, &ca).unwrap().pem()
        };
        write("ca", &ca.pem(), 90);
        write("sm1", &certificate(), 90);
        write("key", &key.serialize_pem(), 90);
        let files = TlsFiles {
            ca: path("ca"),
            certificate: path("sm1"),
            key: path("key"),
        };
        let tls = Tls::read(files);
        let current = || tls.current().unwrap().server;
        let first = current();
        assert!(Arc::ptr_eq(&first, &current()));
        write("sm1", "half written", 60);
        assert!(Arc::ptr_eq(&first, &current()));
        write("sm1", &certificate(), 30);
        assert!(!Arc::ptr_eq(&first, &current()));
    }
}
