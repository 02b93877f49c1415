//! Who may talk to whom: certificates of both sides, from files, signed by one authority. TLS 1.3 and nothing else.
//!
//! The files are read again when they change, so that certificates can be renewed while the program runs; connections that are there
//! stay. What is wrong with a file is one sentence.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "errors of other crates: long lists that grow"
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

/// Where certificates are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Of the authority that signs all nodes' certificates; several are allowed, one after the other.
    pub ca: PathBuf,
    /// Of this node, and what is between it and the authority.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {what}", path.display())]
struct FileError {
    /// The file.
    path: PathBuf,
    /// A sentence.
    what: String,
}

/// Why a certificate is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// By this clock it is not valid now.
    Time,
    /// Anything else.
    File,
}

impl Cause {
    const fn of(e: &TlsError) -> Self {
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

/// So long before a certificate expires that is told.
const SOON: Duration = Duration::from_secs(30 * DAY.as_secs());
/// So often that is said again.
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// What connections are made with.
#[derive(Debug, Clone)]
pub(crate) struct Configs {
    /// For those that come.
    pub(crate) server: Arc<ServerConfig>,
    /// For those that are made.
    pub(crate) client: Arc<ClientConfig>,
}

/// Certificates that are renewed when their files are.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    now: Mutex<Now>,
}

type Stamps = [Option<SystemTime>; 3];

#[derive(Debug)]
struct Now {
    stamps: Stamps,
    /// The last ones that were of use.
    held: Option<Held>,
    /// Why there are none of use.
    fault: Option<FileError>,
    /// When something was remarked last.
    remarked: UnixTime,
}

/// What was in the files.
#[derive(Debug)]
struct Held {
    configs: Configs,
    chain: Vec<CertificateDer<'static>>,
    roots: Arc<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

/// What an operator has to know of certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remark {
    /// They will not be of use for long.
    Soon(String),
    /// They are of no use.
    Alarm(String),
}

impl Remark {
    /// Says it.
    pub(crate) fn log(&self) {
        match self {
            Self::Soon(what) => tracing::warn!("replication: {what}"),
            Self::Alarm(what) => tracing::error!("replication: {what}"),
        }
    }
}

impl Tls {
    /// Reads the files. Where they are of no use that is an alarm, and no reason to do without a subnet manager: they are read again
    /// until they are.
    #[must_use]
    pub(crate) fn read(files: TlsFiles) -> Self {
        let stamps = files.stamps();
        let remarked = UnixTime::now();
        let (held, fault) = match files.read() {
            Ok(held) => (Some(held), None),
            Err(error) => (None, Some(error)),
        };
        let now = Now {
            stamps,
            held,
            fault,
            remarked,
        };
        let remark = now.remark(&files, remarked);
        remark.iter().for_each(Remark::log);
        let now = Mutex::new(now);
        Self { files, now }
    }

    /// What a connection is made with now; `None` as long as the files never were of use. Those that are wrong by now change nothing,
    /// and are told once.
    pub(crate) fn current(&self) -> Option<Configs> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = self.files.stamps();
        // What was mended need not be younger: it may be who may read it.
        if stamps != now.stamps || now.held.is_none() {
            now.stamps = stamps;
            now.take(self.files.read(), &self.files, UnixTime::now());
        }
        now.held.as_ref().map(|held| held.configs.clone())
    }

    /// What is to be said at this time, once a day.
    fn reminder(&self, at: UnixTime) -> Option<Remark> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.remarked.as_secs().abs_diff(at.as_secs()) < DAY.as_secs() {
            return None;
        }
        now.remarked = at;
        now.remark(&self.files, at)
    }

    /// Says once a day what is wrong with the certificates, or will be soon. To be called more often than that.
    pub(crate) fn remind(&self, at: UnixTime) {
        self.reminder(at).iter().for_each(Remark::log);
    }
}

impl Now {
    /// The files were read again.
    fn take(&mut self, read: Result<Held, FileError>, files: &TlsFiles, at: UnixTime) {
        let remark = match read {
            Ok(held) => {
                tracing::info!("replication: certificates were read again");
                self.held = Some(held);
                self.fault = None;
                self.remark(files, at)
            }
            Err(error) if self.held.is_some() => {
                tracing::warn!(
                    "replication: new certificates are of no use, the old ones stay: {error}"
                );
                return;
            }
            Err(error) if self.fault.as_ref() == Some(&error) => return,
            Err(error) => {
                self.fault = Some(error);
                self.remark(files, at)
            }
        };
        self.remarked = at;
        remark.iter().for_each(Remark::log);
    }

    fn remark(&self, files: &TlsFiles, at: UnixTime) -> Option<Remark> {
        match (&self.held, &self.fault) {
            (Some(held), _) => files.expires(&held.chain, &held.roots, &held.provider, at),
            (None, Some(error)) => Some(Remark::Alarm(format!(
                "{error}; there are no copies until that is mended"
            ))),
            (None, None) => None,
        }
    }
}

impl TlsFiles {
    fn stamps(&self) -> Stamps {
        [&self.ca, &self.certificate, &self.key].map(|path| {
            std::fs::metadata(path)
                .and_then(|about| about.modified())
                .ok()
        })
    }

    /// What is to be said of a client's certificate at this time. Whether servers take it is up to them and their authority: only that
    /// it expires counts.
    #[cfg(any(feature = "etcd", test))]
    #[must_use]
    pub(crate) fn client_remark(&self, at: UnixTime) -> Option<Remark> {
        let (roots, chain) = (self.roots().ok()?, certificates(&self.certificate).ok()?);
        let provider = Arc::new(ring::default_provider());
        self.expires(&chain, &roots, &provider, at)
    }

    fn roots(&self) -> Result<Arc<RootCertStore>, FileError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.ca)? {
            roots
                .add(certificate)
                .map_err(|e| wrong(&self.ca, sentence(&e)))?;
        }
        Ok(Arc::new(roots))
    }

    fn read(&self) -> Result<Held, FileError> {
        let roots = self.roots()?;
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|e| unread(&self.key, "private key", &e))?;
        let provider = Arc::new(ring::default_provider());
        self.check(&chain, &roots, &provider)?;

        let refused = |e: TlsError| {
            wrong(
                &self.key,
                match e {
                    TlsError::InconsistentKeys(_) => {
                        format!("is not the key of {}", self.certificate.display())
                    }
                    _ => sentence(&e),
                },
            )
        };
        let clients = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| wrong(&self.ca, e.to_string()))?;
        let servers = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| wrong(&self.ca, e.to_string()))?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(refused)?;
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?
            .with_webpki_verifier(servers)
            .with_client_auth_cert(chain.clone(), key)
            .map_err(refused)?;
        let configs = Configs {
            server: Arc::new(server),
            client: Arc::new(client),
        };
        Ok(Held {
            configs,
            chain,
            roots,
            provider,
        })
    }

    /// That the certificate is not valid at this time, or will not be for long.
    fn expires(
        &self,
        chain: &[CertificateDer<'static>],
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
        at: UnixTime,
    ) -> Option<Remark> {
        let expired = |at| match self.valid(chain, roots, provider, at) {
            Err((Cause::Time, error)) => Some(error),
            Err((Cause::File, _)) | Ok(()) => None,
        };
        if let Some(error) = expired(at) {
            return Some(Remark::Alarm(format!(
                "{error}; peers refuse this node until that is mended"
            )));
        }
        let soon = UnixTime::since_unix_epoch(Duration::from_secs(at.as_secs()) + SOON);
        expired(soon).map(|_| {
            let path = self.certificate.display();
            let days = SOON.as_secs() / DAY.as_secs();
            Remark::Soon(format!(
                "{path}: it, or one that signs it, expires within {days} days"
            ))
        })
    }

    /// Whether others will take this node's certificate, as far as it can be known here, and whenever it is.
    fn check(
        &self,
        chain: &[CertificateDer<'static>],
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<(), FileError> {
        match self.valid(chain, roots, provider, UnixTime::now()) {
            Err((Cause::File, error)) => Err(error),
            Err((Cause::Time, _)) | Ok(()) => Ok(()),
        }
    }

    fn valid(
        &self,
        chain: &[CertificateDer<'static>],
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
        at: UnixTime,
    ) -> Result<(), (Cause, FileError)> {
        let Some((own, between)) = chain.split_first() else {
            let error = wrong(&self.certificate, "holds no certificate");
            return Err((Cause::File, error));
        };
        let told = |e: TlsError| {
            let error = wrong(
                &self.certificate,
                match e {
                    TlsError::InvalidCertificate(
                        CertificateError::UnknownIssuer | CertificateError::BadSignature,
                    ) => {
                        format!("is not signed by the authority in {}", self.ca.display())
                    }
                    _ => sentence(&e),
                },
            );
            (Cause::of(&e), error)
        };
        let parsed = ParsedCertificate::try_from(own).map_err(told)?;
        let algorithms = provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, between, at, algorithms)
            .map_err(told)?;
        WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(|e| (Cause::File, wrong(&self.ca, e.to_string())))?
            .verify_client_cert(own, between, at)
            .map(|_| ())
            .map_err(told)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let found = CertificateDer::pem_file_iter(path).map_err(|e| unread(path, "certificate", &e))?;
    let found: Vec<_> = found
        .collect::<Result<_, _>>()
        .map_err(|e| unread(path, "certificate", &e))?;
    if found.is_empty() {
        return Err(wrong(path, "holds no certificate in PEM form"));
    }
    Ok(found)
}

fn wrong(path: &Path, what: impl Into<String>) -> FileError {
    FileError {
        path: path.to_owned(),
        what: what.into(),
    }
}

fn unread(path: &Path, what: &str, e: &tokio_rustls::rustls::pki_types::pem::Error) -> FileError {
    use tokio_rustls::rustls::pki_types::pem::Error as Pem;
    match e {
        Pem::Io(e) => wrong(path, format!("cannot read it: {e}")),
        Pem::NoItemsFound => wrong(path, format!("holds no {what} in PEM form")),
        _ => wrong(path, format!("holds no {what} that can be read: {e}")),
    }
}

/// What TLS says, in an operator's words.
#[must_use]
pub(crate) fn sentence(e: &TlsError) -> String {
    use CertificateError as C;
    match e {
        TlsError::InvalidCertificate(C::Expired | C::ExpiredContext { .. }) => {
            "the certificate has expired".to_owned()
        }
        TlsError::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. }) => {
            "the certificate is not valid yet: is the clock right?".to_owned()
        }
        TlsError::InvalidCertificate(C::UnknownIssuer | C::BadSignature) => {
            "the certificate is not signed by this site's authority".to_owned()
        }
        TlsError::InvalidCertificate(C::NotValidForNameContext { expected, .. }) => format!(
            "the certificate is not for the name \"{}\": see replication.server-name",
            expected.to_str()
        ),
        TlsError::InvalidCertificate(C::InvalidPurpose | C::InvalidPurposeContext { .. }) => {
            "the certificate must be allowed for both ends of a connection (serverAuth and clientAuth)".to_owned()
        }
        TlsError::NoCertificatesPresented => "it shows no certificate".to_owned(),
        TlsError::AlertReceived(alert) => format!("it refuses this node's certificate ({alert:?})"),
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

    /// What is said of these files, with `{dir}` for their directory.
    fn told(dir: &Path, files: [&str; 3]) -> String {
        let [ca, certificate, key] = files.map(|name| dir.join(name));
        let files = TlsFiles {
            ca,
            certificate,
            key,
        };
        let tls = Tls::read(files);
        let fault = tls.now.lock().unwrap().fault.clone();
        assert_eq!(tls.current().is_none(), fault.is_some());
        fault.map_or_else(
            || "fine".to_owned(),
            |error| error.to_string().replace(dir.to_str().unwrap(), "{dir}"),
        )
    }

    #[test]
    fn what_is_wrong_with_a_file_is_one_sentence() {
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

        assert_eq!(told(dir, ["ca", "sm1", "key"]), "fine");
        let missing = "cannot read it: No such file or directory (os error 2)";
        assert_eq!(
            told(dir, ["none", "sm1", "key"]),
            format!("{{dir}}/none: {missing}")
        );
        assert_eq!(
            told(dir, ["ca", "none", "key"]),
            format!("{{dir}}/none: {missing}")
        );
        assert_eq!(
            told(dir, ["ca", "sm1", "none"]),
            format!("{{dir}}/none: {missing}")
        );
        let empty = "{dir}/empty: holds no certificate in PEM form";
        assert_eq!(told(dir, ["empty", "sm1", "key"]), empty);
        assert_eq!(told(dir, ["ca", "empty", "key"]), empty);
        assert_eq!(
            told(dir, ["ca", "sm1", "empty"]),
            "{dir}/empty: holds no private key in PEM form"
        );
        // An alarm, and no reason to do without a subnet manager.
        assert_eq!(told(dir, ["ca", "old", "key"]), "fine");
        assert_eq!(
            told(dir, ["other", "sm1", "key"]),
            "{dir}/sm1: is not signed by the authority in {dir}/other"
        );
        assert_eq!(
            told(dir, ["ca", "sm1", "wrong-key"]),
            "{dir}/wrong-key: is not the key of {dir}/sm1"
        );
    }

    /// TlsFiles of a certificate with these dates, and who signs it.
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

    /// However long the program runs with them.
    #[test]
    fn certificates_that_expire_are_told_of_each_day() {
        let dir = tempfile::tempdir().unwrap();
        let files = node(dir.path(), &authority(), (2100, 1, 31));
        let path = files.certificate.display().to_string();
        let tls = Tls::read(files.clone());
        let end = date_time_ymd(2100, 1, 31).unix_timestamp();
        let before = |days: u64, s: u64| {
            let end = Duration::from_secs(u64::try_from(end).unwrap());
            let at = end - Duration::from_secs(days * 86_400) + Duration::from_secs(s);
            tls.reminder(UnixTime::since_unix_epoch(at))
        };
        let soon = format!("{path}: it, or one that signs it, expires within 30 days");
        let soon = Some(Remark::Soon(soon));
        assert_eq!((before(40, 0), before(31, 0)), (None, None));
        for day in [29, 28, 2] {
            assert_eq!(before(day, 0), soon);
            assert_eq!((before(day, 3600), before(day, 86_000)), (None, None));
        }
        let expired = format!(
            "{path}: the certificate has expired; peers refuse this node until that is mended"
        );
        let expired = Some(Remark::Alarm(expired));
        assert_eq!(before(0, 3600), expired);
        assert_eq!(before(0, 7200), None);
        assert_eq!(before(0, 90_100), expired);
        // A clock that was set back.
        assert_eq!(before(2, 0), soon);
        let of_client = |days: i64| {
            let at = u64::try_from(end - days * 86_400).unwrap();
            files.client_remark(UnixTime::since_unix_epoch(Duration::from_secs(at)))
        };
        let told = [None, soon, expired];
        assert_eq!([31, 29, -1].map(of_client), told);
        // Of another authority than the servers'.
        std::fs::write(&files.ca, authority().pem()).unwrap();
        assert_eq!([31, 29, -1].map(of_client), told);
    }

    /// A start in the midst of a renewal.
    #[test]
    fn files_that_are_of_no_use_yet_are_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let ca = authority();
        let files = node(dir.path(), &ca, (2100, 1, 31));
        let key = std::fs::read(&files.key).unwrap();
        std::fs::remove_file(&files.key).unwrap();
        let tls = Tls::read(files.clone());
        assert!(tls.current().is_none() && tls.current().is_none());
        let at = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs()) + DAY);
        let told = tls.reminder(at);
        assert!(
            matches!(&told, Some(Remark::Alarm(what)) if what.ends_with("there are no copies until that is mended")),
            "{told:?}"
        );
        std::fs::write(&files.key, KeyPair::generate().unwrap().serialize_pem()).unwrap();
        assert!(tls.current().is_none(), "the key of another");
        std::fs::write(&files.key, key).unwrap();
        assert!(tls.current().is_some());
        assert!(tls.now.lock().unwrap().fault.is_none());
    }

    /// Renewed files are used from the next connection on; wrong ones change nothing.
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
