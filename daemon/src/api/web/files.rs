//! The files of the page, as `scripts/web` builds them from the folder `web`.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageFile {
    /// Its path in the URL.
    pub(super) path: &'static str,
    media_type: &'static str,
    content: &'static [u8],
}

/// All files.
pub(super) const FILES: &[PageFile] = &[
    PageFile {
        path: "/",
        media_type: "text/html; charset=utf-8",
        content: include_bytes!("../../../../web/dist/index.html"),
    },
    PageFile {
        path: "/app.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_bytes!("../../../../web/dist/app.js"),
    },
    PageFile {
        path: "/app.css",
        media_type: "text/css; charset=utf-8",
        content: include_bytes!("../../../../web/dist/app.css"),
    },
    PageFile {
        path: "/licenses.txt",
        media_type: "text/plain; charset=utf-8",
        content: include_bytes!("../../../../web/dist/licenses.txt"),
    },
    PageFile {
        path: "/icon.svg",
        media_type: "image/svg+xml",
        content: include_bytes!("../../../../web/dist/icon.svg"),
    },
];

impl IntoResponse for PageFile {
    fn into_response(self) -> Response {
        // The next version of the service has other files under these names.
        let headers = [(CONTENT_TYPE, self.media_type), (CACHE_CONTROL, "no-cache")];
        (headers, self.content).into_response()
    }
}
