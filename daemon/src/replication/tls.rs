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
pub struct Files {
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
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// A sentence.
    pub what: String,
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
const SOON: Duration = Duration::from_secs(30 * 86_400);

/// What connections are made with.
#[derive(Debug, Clone)]
pub struct Configs {
    /// For those that come.
    pub server: Arc<ServerConfig>,
    /// For those that are made.
    pub client: Arc<ClientConfig>,
}

/// Certificates that are renewed when their files are.
#[derive(Debug)]
pub struct Tls {
    files: Files,
    now: Mutex<(Stamps, Configs)>,
}

type Stamps = [Option<SystemTime>; 3];

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// What is wrong with one.
    pub fn read(files: Files) -> Result<Self, FileError> {
        let stamps = files.stamps();
        let configs = files.read()?;
        Ok(Self {
            files,
            now: Mutex::new((stamps, configs)),
        })
    }

    /// What a connection is made with now. Files that are wrong by now change nothing, and are told once.
    pub fn current(&self) -> Configs {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let stamps = self.files.stamps();
        if stamps != now.0 {
            now.0 = stamps;
            match self.files.read() {
                Ok(configs) => {
                    tracing::info!("replication: certificates were read again");
                    now.1 = configs;
                }
                Err(error) => {
                    tracing::warn!(
                        "replication: new certificates are of no use, the old ones stay: {error}"
                    );
                }
            }
        }
        now.1.clone()
    }
}

impl Files {
    fn stamps(&self) -> Stamps {
        [&self.ca, &self.certificate, &self.key].map(|path| {
            std::fs::metadata(path)
                .and_then(|about| about.modified())
                .ok()
        })
    }

    fn read(&self) -> Result<Configs, FileError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&self.ca)? {
            roots
                .add(certificate)
                .map_err(|e| wrong(&self.ca, sentence(&e)))?;
        }
        let roots = Arc::new(roots);
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|e| unread(&self.key, "private key", &e))?;
        let provider = Arc::new(ring::default_provider());
        self.check(&chain, &roots, &provider)?;
        match self.remark(&chain, &roots, &provider) {
            Some((true, what)) => {
                tracing::error!("replication: {what}; peers refuse this node until that is mended");
            }
            Some((false, what)) => tracing::warn!("replication: {what}"),
            None => {}
        }

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
        let servers = WebPkiServerVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|e| wrong(&self.ca, e.to_string()))?;
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?
            .with_client_cert_verifier(clients)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(refused)?;
        let client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?
            .with_webpki_verifier(servers)
            .with_client_auth_cert(chain, key)
            .map_err(refused)?;
        Ok(Configs {
            server: Arc::new(server),
            client: Arc::new(client),
        })
    }

    /// That the certificate is not valid now, or will not be for long, and whether it is the first. That is no reason to do without a
    /// subnet manager: the files are read again when they change, and until then nobody has a copy, which is an alarm.
    fn remark(
        &self,
        chain: &[CertificateDer<'static>],
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
    ) -> Option<(bool, String)> {
        let now = UnixTime::now();
        if let Err((_, error)) = self.valid(chain, roots, provider, now) {
            return Some((true, error.to_string()));
        }
        let soon = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + SOON);
        self.valid(chain, roots, provider, soon).err().map(|_| {
            let path = self.certificate.display();
            let days = SOON.as_secs() / 86_400;
            let what = format!("{path}: it, or one that signs it, expires within {days} days");
            (false, what)
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
pub fn sentence(e: &TlsError) -> String {
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
        let files = Files {
            ca,
            certificate,
            key,
        };
        match Tls::read(files) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string().replace(dir.to_str().unwrap(), "{dir}"),
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_one_sentence() {
        let dir = crate::testing::TempDir::new("replication-tls");
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
        let mut soon = params;
        let days = SystemTime::now() + Duration::from_secs(20 * 86_400);
        soon.not_after = days.into();
        write("soon", &soon.signed_by(&key, &ca).unwrap().pem());
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
        let remark = |name: &str| {
            let [ca, certificate, key] = ["ca", name, "key"].map(|name| dir.join(name));
            let mut roots = RootCertStore::empty();
            for authority in certificates(&ca).unwrap() {
                roots.add(authority).unwrap();
            }
            let chain = certificates(&certificate).unwrap();
            let files = Files {
                ca,
                certificate,
                key,
            };
            let provider = Arc::new(ring::default_provider());
            let remark = files.remark(&chain, &Arc::new(roots), &provider);
            remark.map(|(now, what)| (now, what.replace(dir.to_str().unwrap(), "{dir}")))
        };
        assert_eq!(remark("sm1"), None);
        let expired = "{dir}/old: the certificate has expired".to_owned();
        assert_eq!(remark("old"), Some((true, expired)));
        let soon = "{dir}/soon: it, or one that signs it, expires within 30 days".to_owned();
        assert_eq!(remark("soon"), Some((false, soon)));
        assert_eq!(
            told(dir, ["other", "sm1", "key"]),
            "{dir}/sm1: is not signed by the authority in {dir}/other"
        );
        assert_eq!(
            told(dir, ["ca", "sm1", "wrong-key"]),
            "{dir}/wrong-key: is not the key of {dir}/sm1"
        );
    }

    /// Renewed files are used from the next connection on; wrong ones change nothing.
    #[test]
    fn renewed_files_are_read_again() {
        let dir = crate::testing::TempDir::new("replication-renewed");
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
        let files = Files {
            ca: path("ca"),
            certificate: path("sm1"),
            key: path("key"),
        };
        let tls = Tls::read(files).unwrap();
        let first = tls.current().server;
        assert!(Arc::ptr_eq(&first, &tls.current().server));
        write("sm1", "half written", 60);
        assert!(Arc::ptr_eq(&first, &tls.current().server));
        write("sm1", &certificate(), 30);
        assert!(!Arc::ptr_eq(&first, &tls.current().server));
    }
}
