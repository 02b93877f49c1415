//! Keys of `[api]` and `[ufm]`, and the entries `[[api-client]]`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ferrosm_replication::https::ServerFiles;

use super::settings::{ApiClientEntry, ApiSection, Settings, UfmSection};

/// Most entries.
pub(super) const ENTRIES_MAX: usize = 1000;

impl Settings {
    /// The certificate files of the API's TCP listener, with their directory.
    #[must_use]
    pub fn api_files(&self) -> ServerFiles {
        ServerFiles {
            certificate: self.located(&self.api.certificate),
            key: self.located(&self.api.key),
            client_ca: Some(self.located(&self.api.client_ca)),
        }
    }

    /// The certificate files of the listener of UFM's calls.
    #[must_use]
    pub fn ufm_files(&self) -> ServerFiles {
        ServerFiles {
            certificate: self.located(&self.ufm.certificate),
            key: self.located(&self.ufm.key),
            client_ca: None,
        }
    }

    /// The file with the password for UFM's calls.
    #[must_use]
    pub fn ufm_password_file(&self) -> PathBuf {
        self.located(&self.ufm.password_file)
    }

    /// A file, with its directory. A missing file name was reported.
    fn located(&self, file: &Option<PathBuf>) -> PathBuf {
        let name = file.as_deref().unwrap_or_else(|| Path::new(""));
        self.dir.join(name)
    }
}

/// Checks combinations of keys.
pub(super) fn check_keys(section: &ApiSection, report: &mut dyn FnMut(&'static str, &str)) {
    let files = [
        ("api.certificate", &section.certificate),
        ("api.key", &section.key),
        ("api.client-ca", &section.client_ca),
    ];
    for (key, file) in files {
        match (section.listen, file) {
            (Some(_), None) => report(
                key,
                "is required with api.listen: server and clients show certificates",
            ),
            (None, Some(_)) => report(key, "has no effect without api.listen"),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}

/// Checks combinations of keys of `[ufm]`.
pub(super) fn check_ufm(section: &UfmSection, report: &mut dyn FnMut(&'static str, &str)) {
    let are_set = [
        ("ufm.certificate", section.certificate.is_some()),
        ("ufm.key", section.key.is_some()),
        ("ufm.user", !section.user.is_empty()),
        ("ufm.password-file", section.password_file.is_some()),
    ];
    for (key, is_set) in are_set {
        match (section.listen.is_some(), is_set) {
            (true, false) => report(key, "is required with ufm.listen"),
            (false, true) => report(key, "has no effect without ufm.listen"),
            (true, true) | (false, false) => {}
        }
    }
    if section.user.contains(':') {
        report("ufm.user", "must not contain a colon");
    }
}

/// Checks the address of the page.
pub(super) fn check_web(listen: Option<SocketAddr>, report: &mut dyn FnMut(&'static str, &str)) {
    if listen.is_some_and(|address| !address.ip().is_loopback()) {
        let text = "must be a loopback address, such as 127.0.0.1: the page has no encryption of its own; other computers reach it through a tunnel (`ssh -L`)";
        report("web.listen", text);
    }
}

/// What is wrong with an entry, apart from its values. `others` are the entries before it.
pub(super) fn check(entry: &ApiClientEntry, others: &[ApiClientEntry]) -> Vec<String> {
    let mut errors = Vec::new();
    if entry.subject.is_empty() {
        errors.push("key `subject` is missing".to_owned());
    } else if others.iter().any(|other| other.subject == entry.subject) {
        let subject = &entry.subject;
        errors.push(format!("another entry has the subject {subject:?}"));
    }
    if others.len() >= ENTRIES_MAX {
        errors.push(format!("there are at most {ENTRIES_MAX} entries"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ferrosm_api::access::ClientRole;

    use crate::config::{ConfigSource, Settings};

    fn resolve(text: &str) -> Result<Settings, String> {
        ConfigSource::parse(Path::new("/etc/f.toml"), text)
            .and_then(|source| source.resolve(|_| {}))
            .map_err(|errors| errors.to_string())
    }

    #[test]
    fn listener_needs_its_files() {
        let listen = "[api]\nlisten = \"[::]:7473\"\ncertificate = \"sm.crt\"\n";
        let errors = resolve(listen).unwrap_err();
        assert!(errors.contains("api.key: is required"), "{errors}");
        assert!(errors.contains("api.client-ca: is required"), "{errors}");
        let errors = resolve("[api]\nkey = \"sm.key\"\n").unwrap_err();
        assert!(errors.contains("api.key: has no effect"), "{errors}");
        let files = "key = \"/keys/sm.key\"\nclient-ca = \"ca.crt\"\n";
        let settings = resolve(&[listen, files].concat()).unwrap();
        let found = settings.api_files();
        assert_eq!(found.certificate, Path::new("/etc/sm.crt"));
        assert_eq!(found.key, Path::new("/keys/sm.key"));
        assert_eq!(found.client_ca.as_deref(), Some(Path::new("/etc/ca.crt")));
    }

    #[test]
    fn page_is_for_this_host_only() {
        let web = |listen: &str| resolve(&format!("[web]\nlisten = \"{listen}\"\n"));
        assert!(web("127.0.0.1:7475").unwrap().web.is_some());
        assert!(web("[::1]:7475").unwrap().web.is_some());
        assert_eq!(web("").unwrap().web, None);
        for address in ["0.0.0.0:7475", "[::]:7475", "192.0.2.1:7475"] {
            let errors = web(address).unwrap_err();
            assert!(errors.contains("must be a loopback address"), "{errors}");
        }
    }

    /// Roles have three names; an entry without a role may only read.
    #[test]
    fn clients_have_roles() {
        let entry = |subject: &str, role: &str| {
            format!("[[api-client]]\nsubject = \"{subject}\"\nrole = \"{role}\"\n")
        };
        let text = [entry("a", "admin"), entry("b", "operate")].concat();
        let settings = resolve(&(text + "[[api-client]]\nsubject = \"c\"\n")).unwrap();
        let roles = settings.api_clients.iter().map(|entry| entry.role);
        assert_eq!(
            roles.collect::<Vec<_>>(),
            [ClientRole::Admin, ClientRole::Operate, ClientRole::View]
        );
        let printed = crate::config::effective(&settings);
        let read_back = ConfigSource::parse(Path::new("f.toml"), &printed).unwrap();
        assert_eq!(read_back.settings.api_clients, settings.api_clients);
        for (text, expected) in [
            (entry("a", "root"), "view"),
            ("[[api-client]]\nrole = \"view\"\n".to_owned(), "`subject`"),
            (entry("a", "view").repeat(2), "another entry"),
        ] {
            let errors = resolve(&text).unwrap_err();
            assert!(errors.contains(expected), "{text}: {errors}");
        }
    }
}
