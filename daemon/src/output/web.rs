//! The link that opens the page, as text.

use ferrosm_api::web::WebLogin;

/// The link, what it gives, and how to open it from another computer.
#[must_use]
pub fn link(login: &WebLogin) -> String {
    let WebLogin {
        url,
        session_role,
        valid_s,
    } = login;
    let mut text = format!(
        "{url}\n  opens the page once, within {} minutes, with the role {}\n",
        valid_s / 60,
        session_role.name()
    );
    let address = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .map(|(address, _)| address);
    if let Some((_, port)) = address.and_then(|address| address.rsplit_once(':')) {
        let system = rustix::system::uname();
        let host = system.nodename().to_string_lossy();
        text.push_str(&format!(
            "  from another computer: ssh -L {port}:{} {host}, then open it there\n",
            address.unwrap_or_default()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use ferrosm_api::access::ClientRole;

    use super::*;

    #[test]
    fn tunnel_leads_to_the_same_link() {
        let text = link(&WebLogin {
            url: "http://127.0.0.1:7475/#login=abc".to_owned(),
            session_role: ClientRole::View,
            valid_s: 300,
        });
        assert!(text.starts_with("http://127.0.0.1:7475/#login=abc\n"));
        assert!(
            text.contains("within 5 minutes, with the role view"),
            "{text}"
        );
        assert!(text.contains("ssh -L 7475:127.0.0.1:7475 "), "{text}");
    }
}
