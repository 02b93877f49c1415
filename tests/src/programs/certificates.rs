//! Certificates of a test's own authority, in files.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};

use crate::programs::scratch::write_file;

/// A certificate authority.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Default for Authority {
    fn default() -> Self {
        let issuer = || -> Result<_, rcgen::Error> {
            let mut params = CertificateParams::new(Vec::new())?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            CertifiedIssuer::self_signed(params, KeyPair::generate()?)
        };
        Self(issuer().unwrap_or_else(|e| panic!("{e}")))
    }
}

/// What a certificate is for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'a> {
    pub common_name: &'a str,
    /// DNS names and addresses.
    pub names: &'a [&'a str],
    pub is_expired: bool,
}

impl Authority {
    /// Writes its certificate to `NAME.crt`.
    pub fn write(&self, dir: &Path, name: &str) {
        write_file(dir, &format!("{name}.crt"), &self.0.pem());
    }

    /// Writes a certificate to `NAME.crt` and its private key to `NAME.key`.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn issue(&self, dir: &Path, name: &str, subject: Subject<'_>) {
        let certify = || -> Result<_, rcgen::Error> {
            let key = KeyPair::generate()?;
            let names: Vec<String> = subject
                .names
                .iter()
                .map(|name| (*name).to_owned())
                .collect();
            let mut params = CertificateParams::new(names)?;
            params
                .distinguished_name
                .push(DnType::CommonName, subject.common_name);
            if subject.is_expired {
                params.not_before = date_time_ymd(2001, 1, 1);
                params.not_after = date_time_ymd(2002, 1, 1);
            }
            Ok((params.signed_by(&key, &self.0)?, key))
        };
        let (certificate, key) = certify().unwrap_or_else(|e| panic!("{e}"));
        write_file(dir, &format!("{name}.crt"), &certificate.pem());
        write_file(dir, &format!("{name}.key"), &key.serialize_pem());
    }
}
