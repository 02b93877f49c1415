//! Who may use the page (`[web]`): links that open it once, and the sessions that they open.
//!
//! A link has the role of the user that asked for it at the Unix socket, where the kernel names the
//! user. It opens one session, within [`LINK_TIME`]. All secrets are random numbers of 256 bits.
//! The service has them in memory only, so that sessions end with it. Bounds: `LINKS_MAX`,
//! `SESSIONS_MAX`; beyond them the oldest ends.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ferrosm_api::access::ClientRole;
use ferrosm_api::answer::{ApiError, ErrorKind};

/// Time in which a link can be opened.
pub const LINK_TIME: Duration = Duration::from_secs(300);
/// Time after which a session ends.
pub const SESSION_TIME: Duration = Duration::from_secs(12 * 3600);
/// Most links that wait to be opened.
const LINKS_MAX: usize = 64;
/// Most sessions.
const SESSIONS_MAX: usize = 256;
/// Length of a secret, in bytes.
const SECRET_LEN: usize = 32;

/// A random text that cannot be guessed. It is never logged.
#[derive(Clone)]
pub(super) struct PageSecret(String);

impl PageSecret {
    fn random() -> Result<Self, ApiError> {
        let mut bytes = [0; SECRET_LEN];
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
        read.map_err(|error| {
            let message = format!("cannot read /dev/urandom: {error}");
            ApiError::new(ErrorKind::Internal, message, "")
        })?;
        Ok(Self(BASE64.encode(bytes)))
    }

    /// Takes the same time for all texts of a length.
    fn is(&self, text: &str) -> bool {
        let pairs = self.0.bytes().zip(text.bytes());
        let difference = pairs.fold(0, |difference, (a, b)| difference | (a ^ b));
        self.0.len() == text.len() && difference == 0
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PageSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageSecret(..)")
    }
}

/// A user of the page, and what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageUser {
    pub uid: u32,
    pub role: ClientRole,
}

#[derive(Debug)]
struct Link {
    secret: PageSecret,
    user: PageUser,
    made: Instant,
}

/// A session.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// In the cookie, which the page cannot read.
    pub(super) cookie: PageSecret,
    /// In a header of each request, which no other page can send.
    pub(super) token: PageSecret,
    pub(super) user: PageUser,
    opened: Instant,
}

impl Session {
    /// Time until it ends.
    pub(super) fn remaining(&self, now: Instant) -> Duration {
        SESSION_TIME.saturating_sub(now.duration_since(self.opened))
    }
}

/// Links and sessions. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Sessions(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Where the page is; `None` while it is not served.
    address: Option<SocketAddr>,
    /// The oldest first.
    links: VecDeque<Link>,
    sessions: VecDeque<Session>,
}

impl Sessions {
    /// The page is served at this address from now on.
    pub fn served_at(&self, address: SocketAddr) {
        self.lock().address = Some(address);
    }

    /// Where the page is; `None` while it is not served.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.lock().address
    }

    /// The secret of a new link, which opens a session for a user.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn make_link(&self, user: PageUser, now: Instant) -> Result<String, ApiError> {
        let secret = PageSecret::random()?;
        let text = secret.0.clone();
        let links = &mut self.lock().links;
        if links.len() >= LINKS_MAX {
            links.pop_front();
        }
        links.push_back(Link {
            secret,
            user,
            made: now,
        });
        Ok(text)
    }

    /// Opens a session with a link, which is used up by that.
    pub(super) fn open(&self, link: &str, now: Instant) -> Result<Session, ApiError> {
        let cookie = PageSecret::random()?;
        let token = PageSecret::random()?;
        let mut inner = self.lock();
        inner
            .links
            .retain(|link| now.duration_since(link.made) < LINK_TIME);
        let at = inner.links.iter().position(|known| known.secret.is(link));
        let Link { user, .. } = at.and_then(|at| inner.links.remove(at)).ok_or_else(|| {
            ApiError::new(
                ErrorKind::NotLoggedIn,
                "this link has been opened before, or is older than 5 minutes",
                "Run `ferrosm web login` again, and open the new link.",
            )
        })?;
        let session = Session {
            cookie,
            token,
            user,
            opened: now,
        };
        if inner.sessions.len() >= SESSIONS_MAX {
            inner.sessions.pop_front();
        }
        inner.sessions.push_back(session.clone());
        Ok(session)
    }

    /// The session of a request: its cookie and its token must both be right.
    pub(super) fn find(&self, cookie: &str, token: &str, now: Instant) -> Option<Session> {
        let sessions = &mut self.lock().sessions;
        sessions.retain(|session| !session.remaining(now).is_zero());
        let mut found = sessions.iter();
        found
            .find(|session| session.cookie.is(cookie) && session.token.is(token))
            .cloned()
    }

    /// Ends a session.
    pub(super) fn close(&self, ended: &Session) {
        let sessions = &mut self.lock().sessions;
        sessions.retain(|session| !session.cookie.is(ended.cookie.text()));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: PageUser = PageUser {
        uid: 7,
        role: ClientRole::Operate,
    };

    #[test]
    fn link_opens_one_session() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let link = sessions.make_link(USER, start).unwrap();
        assert!(sessions.open("", start).is_err());
        assert!(sessions.open(&link[1..], start).is_err());
        let session = sessions.open(&link, start).unwrap();
        assert_eq!(session.user, USER);
        assert!(sessions.open(&link, start).is_err());
        let other = sessions.make_link(USER, start).unwrap();
        let other = sessions.open(&other, start).unwrap();
        let find =
            |cookie: &PageSecret, token: &PageSecret| sessions.find(&cookie.0, &token.0, start);
        assert!(find(&session.cookie, &session.token).is_some());
        assert!(find(&session.cookie, &other.token).is_none());
        assert!(find(&session.token, &session.token).is_none());
        sessions.close(&session);
        assert!(find(&session.cookie, &session.token).is_none());
        assert!(find(&other.cookie, &other.token).is_some());
    }

    #[test]
    fn links_and_sessions_expire() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let link = sessions.make_link(USER, start).unwrap();
        let late = start + LINK_TIME;
        assert!(sessions.open(&link, late).is_err());
        let link = sessions.make_link(USER, late).unwrap();
        let last = late + LINK_TIME - Duration::from_secs(1);
        let session = sessions.open(&link, last).unwrap();
        let find = |now| sessions.find(&session.cookie.0, &session.token.0, now);
        assert!(find(last + SESSION_TIME - Duration::from_secs(1)).is_some());
        assert!(find(last + SESSION_TIME).is_none());
    }

    #[test]
    fn numbers_are_bounded() {
        let sessions = Sessions::default();
        let now = Instant::now();
        let first = sessions.make_link(USER, now).unwrap();
        for _ in 0..LINKS_MAX {
            sessions.make_link(USER, now).unwrap();
        }
        assert!(sessions.open(&first, now).is_err());
        for _ in 0..=SESSIONS_MAX {
            let link = sessions.make_link(USER, now).unwrap();
            sessions.open(&link, now).unwrap();
        }
        assert_eq!(sessions.lock().sessions.len(), SESSIONS_MAX);
    }

    #[test]
    fn secrets_are_not_printed() {
        let sessions = Sessions::default();
        let link = sessions.make_link(USER, Instant::now()).unwrap();
        let printed = format!("{sessions:?}");
        assert!(!printed.contains(&link), "{printed}");
    }
}
