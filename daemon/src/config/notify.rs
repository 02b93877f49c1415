//! The entries `[[notify]]`: values, and what a complete entry has.

use hyper::Uri;

use super::settings::NotifyEntry;
use super::value::Text;

/// Most entries.
pub(super) const ENTRIES_MAX: usize = 16;

/// Address of a web server.
pub(super) const URL: Text = Text {
    expected: "an address such as \"https://alerts.example/ferrosm\"",
    is_valid: |text| text.is_empty() || is_url(text),
};

/// Address of a syslog server.
pub(super) const SYSLOG: Text = Text {
    expected: "\"/dev/log\", the path of another socket, or \"udp://HOST:PORT\"",
    is_valid: |text| text.is_empty() || text.starts_with('/') || is_udp(text),
};

fn is_url(text: &str) -> bool {
    let uri: Result<Uri, _> = text.parse();
    uri.is_ok_and(|uri| {
        let is_http = ["http", "https"].map(Some).contains(&uri.scheme_str());
        is_http && uri.host().is_some_and(|host| !host.is_empty())
    })
}

fn is_udp(text: &str) -> bool {
    let remote = text.strip_prefix("udp://");
    let parts = remote.and_then(|remote| remote.rsplit_once(':'));
    parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// What is wrong with an entry, apart from its values. `others` are the entries before it.
pub(super) fn check(entry: &NotifyEntry, others: &[NotifyEntry]) -> Vec<String> {
    let mut errors = Vec::new();
    if entry.name.is_empty() {
        errors.push("key `name` is missing".to_owned());
    } else if others.iter().any(|other| other.name == entry.name) {
        errors.push(format!("another entry is named {:?}", entry.name));
    }
    let ways = [
        entry.url.is_some(),
        !entry.exec.is_empty(),
        entry.syslog.is_some(),
    ];
    if ways.iter().filter(|way| **way).count() != 1 {
        errors.push("exactly one of `url`, `exec` and `syslog` is required".to_owned());
    }
    if entry
        .exec
        .first()
        .is_some_and(|path| !path.starts_with('/'))
    {
        errors.push(
            "exec: the program is an absolute path, such as [\"/usr/local/bin/page\"]".to_owned(),
        );
    }
    if others.len() >= ENTRIES_MAX {
        errors.push(format!("there are at most {ENTRIES_MAX} entries"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::ConfigSource;

    #[test]
    fn entries_are_read_and_printed() {
        let text = "[[notify]]\nname = \"hook\"\nurl = \"https://[::1]:8443/x?key=1\"\nkinds = [\"link-*\"]\nseverity = \"error\"\n\
                    [[notify]]\nname = \"log\"\nsyslog = \"udp://log.example:514\"\n";
        let settings = ConfigSource::parse(Path::new("f.toml"), text)
            .unwrap()
            .settings;
        let names: Vec<&str> = settings.notify_entries.iter().map(|e| &*e.name).collect();
        assert_eq!(names, ["hook", "log"]);
        let printed = crate::config::effective(&settings);
        assert!(printed.contains("kinds = [\"link-*\"]"), "{printed}");
        assert!(
            printed.contains("syslog = \"udp://log.example:514\""),
            "{printed}"
        );
        // It may contain a password.
        assert!(printed.contains("# url is set; not shown"), "{printed}");
        assert!(!printed.contains("8443"), "{printed}");
    }

    /// Each mistake is reported with its place.
    #[test]
    fn incomplete_entries_are_errors() {
        for (entry, expected) in [
            ("name = \"a\"", "exactly one of `url`, `exec` and `syslog`"),
            ("syslog = \"/dev/log\"", "key `name` is missing"),
            (
                "name = \"a\"\nurl = \"http://h/\"\nexec = [\"/bin/true\"]",
                "exactly one",
            ),
            ("name = \"a\"\nurl = \"h/x\"", "an address such as"),
            ("name = \"a\"\nurl = \"ftp://h/x\"", "an address such as"),
            ("name = \"a\"\nsyslog = \"udp://h\"", "udp://HOST:PORT"),
            ("name = \"a\"\nexec = [\"page\"]", "absolute path"),
            (
                "name = \"a\"\nexec = [\"/a\"]\nkind = \"x\"",
                "did you mean `kinds`?",
            ),
            (
                "name = \"a\"\nexec = [\"/a\"]\n[[notify]]\nname = \"a\"\nexec = [\"/a\"]",
                "another entry is named \"a\"",
            ),
        ] {
            let text = format!("[[notify]]\n{entry}\n");
            let errors = ConfigSource::parse(Path::new("f.toml"), &text).unwrap_err();
            let errors = errors.to_string();
            assert!(errors.contains(expected), "{entry}: {errors}");
            assert!(errors.starts_with("f.toml:"), "{errors}");
        }
    }
}
