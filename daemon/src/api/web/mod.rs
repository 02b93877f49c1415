//! The page: its files, its sessions, and the resources of the API at the same address (`[web]`).
//!
//! The page uses nothing but the API, with the role of its session. It is served on a loopback
//! address, where every local user and every page in a browser of this host can send requests, so
//! each request is checked:
//!
//! * `Host` names this computer. A name that an attacker lets resolve to 127.0.0.1 is refused.
//! * `Origin`, if there is one, and `Sec-Fetch-Site` are those of the page itself.
//! * Resources need a session: its cookie (`HttpOnly`, `SameSite=Strict`) and its token in a
//!   header. A browser sends cookies to all ports of a host, so that a server of another user could
//!   collect the cookie; the token is in the storage of the page, which belongs to its port.

mod files;

use core::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::{Request, State as Shared};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, REFERRER_POLICY, SET_COOKIE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use ferrosm_api::answer::{ApiError, ErrorAnswer, ErrorKind};
use ferrosm_api::web::{SessionRequest, WebSession};
use tracing::info;

use self::files::FILES;
use super::Service;
use super::access::{Client, user_name};
use super::admission::{SEC_FETCH_SITE, receive_body};
use super::list::invalid;
use super::routes::{self, Failed};
use super::sessions::{PageUser, SESSION_TIME, Session};

/// Header with the token of the session.
const TOKEN: HeaderName = HeaderName::from_static("x-ferrosm-token");
/// Beginning of the name of the cookie. The port follows: all ports of a host share cookies.
const COOKIE_NAME: &str = "ferrosm-session-";
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The page loads nothing from elsewhere, and runs no script that is not in its file.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page and the API.
pub(super) fn router(service: &Service) -> Router {
    let mut router: Router<Service> = Router::new();
    for file in FILES {
        router = router.route(file.path, get(*file));
    }
    router
        .route(
            "/session",
            post(open_session).get(get_session).delete(close_session),
        )
        .with_state(service.clone())
        .merge(routes::router(service.clone()))
        // Behind the guard: without a session, no body is received.
        .layer(middleware::from_fn_with_state(
            service.clone(),
            receive_body,
        ))
        .layer(middleware::from_fn_with_state(service.clone(), guard))
}

/// Refuses requests that are not from the page, and finds the session of the others.
async fn guard(Shared(service): Shared<Service>, mut request: Request, next: Next) -> Response {
    let admitted = admit(&service, &request);
    let is_file = FILES.iter().any(|file| file.path == request.uri().path());
    let mut response = match admitted {
        Ok(Some(session)) => {
            let PageUser { uid, role } = session.user;
            let extensions = request.extensions_mut();
            extensions.insert(Client::Page { uid, role });
            extensions.insert(session);
            next.run(request).await
        }
        Ok(None) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !is_file {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

/// Why a request is refused.
#[derive(Debug)]
enum Refusal {
    /// `Host` names another computer.
    Host,
    /// It is from another page.
    Origin,
    NoSession,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, kind, message, remedy) = match self {
            Self::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                ErrorKind::Forbidden,
                "the page is not served under this host name",
                "Open it as 127.0.0.1 or localhost, from another computer through a tunnel (`ssh -L`).",
            ),
            Self::Origin => (
                StatusCode::FORBIDDEN,
                ErrorKind::Forbidden,
                "the request is from another page",
                "Open the link of `ferrosm web login` in a new tab.",
            ),
            Self::NoSession => (
                StatusCode::UNAUTHORIZED,
                ErrorKind::NotLoggedIn,
                "no session, or it has ended",
                "Run `ferrosm web login` on the host of the service, and open its link.",
            ),
        };
        let error = ApiError::new(kind, message, remedy);
        (status, Json(ErrorAnswer { error })).into_response()
    }
}

/// The session of a request; `None` for what needs none.
fn admit(service: &Service, request: &Request) -> Result<Option<Session>, Refusal> {
    let headers = request.headers();
    let host = text(headers, &HOST).ok_or(Refusal::Host)?;
    if headers.get_all(HOST).iter().count() != 1 || !names_this_computer(host) {
        return Err(Refusal::Host);
    }
    let path = request.uri().path();
    let is_file = FILES.iter().any(|file| file.path == path);
    let is_foreign = match headers.get(ORIGIN) {
        Some(origin) => origin.as_bytes() != format!("http://{host}").as_bytes(),
        None => false,
    };
    // A browser sends it also with requests that have no Origin. A link in another page may open
    // this one: its files show nothing without a session.
    let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
    let is_own = matches!(site, None | Some(b"same-origin" | b"none"));
    if is_foreign || (!is_own && !is_file) {
        return Err(Refusal::Origin);
    }
    if is_file || (path == "/session" && request.method() == axum::http::Method::POST) {
        return Ok(None);
    }
    find_session(service, host, headers)
        .map(Some)
        .ok_or(Refusal::NoSession)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether `Host` is a loopback address or `localhost`, with any port: a tunnel may have another
/// one.
fn names_this_computer(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    // Its host is what follows the name of a user.
    if host.contains('@') {
        return false;
    }
    let name = authority.host();
    let bare = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match bare {
        Some(address) => address.parse() == Ok(Ipv6Addr::LOCALHOST),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
    }
}

/// Name of the cookie of the page at a host.
fn cookie_name(host: &str) -> String {
    let authority = host.parse::<Authority>().ok();
    let port = authority.and_then(|authority| authority.port_u16());
    format!("{COOKIE_NAME}{}", port.unwrap_or(80))
}

fn find_session(service: &Service, host: &str, headers: &HeaderMap) -> Option<Session> {
    let token = text(headers, &TOKEN)?;
    let name = cookie_name(host);
    let values = headers.get_all(COOKIE).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut pairs = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let (_, cookie) = pairs.find(|(found, _)| *found == name)?;
    service.sessions.find(cookie, token, Instant::now())
}

fn describe(session: &Session) -> Json<WebSession> {
    Json(WebSession {
        token: session.token.text().to_owned(),
        role: session.user.role,
        user: user_name(session.user.uid),
        valid_s: session.remaining(Instant::now()).as_secs(),
    })
}

/// Opens a session with a link.
async fn open_session(
    Shared(service): Shared<Service>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failed> {
    let request: SessionRequest =
        serde_json::from_slice(&body).map_err(|error| invalid(error.to_string()))?;
    let session = service.sessions.open(&request.link, Instant::now())?;
    let user = user_name(session.user.uid);
    info!(
        user,
        role = session.user.role.name(),
        "session of the page opened"
    );
    let name = cookie_name(text(&headers, &HOST).unwrap_or_default());
    let cookie = format!(
        "{name}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}",
        session.cookie.text(),
        SESSION_TIME.as_secs()
    );
    Ok(([(SET_COOKIE, cookie)], describe(&session)).into_response())
}

/// The session of the request.
async fn get_session(Extension(session): Extension<Session>) -> Json<WebSession> {
    describe(&session)
}

/// Ends the session.
async fn close_session(
    Shared(service): Shared<Service>,
    Extension(session): Extension<Session>,
) -> StatusCode {
    service.sessions.close(&session);
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::names_this_computer;

    #[test]
    fn host_names_this_computer() {
        for host in [
            "127.0.0.1:7475",
            "127.0.0.1",
            "localhost:8080",
            "LOCALHOST",
            "[::1]:7475",
            "127.1.2.3:1",
        ] {
            assert!(names_this_computer(host), "{host}");
        }
        for host in [
            "",
            "sm1:7475",
            "127.0.0.1.example:7475",
            "localhost.example",
            "evil.example:7475",
            "10.0.0.1",
            "[::2]:7475",
            "user@localhost",
            "http://localhost",
            "localhost:7475/path",
        ] {
            assert!(!names_this_computer(host), "{host}");
        }
    }
}
