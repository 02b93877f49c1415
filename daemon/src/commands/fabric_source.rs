//! The fabric of a running service or a file, whole.

use core::time::Duration;

use ferrosm_api::answer::{PAGE_LIMIT_MAX, Page};
use ferrosm_api::structure::FabricStructure;
use hyper::Method;
use serde::de::DeserializeOwned;

use super::service::{self, failure};
use crate::api::client::Call;
use crate::cli::{FabricSourceArgs, ServiceDirArgs};
use crate::failure::Failure;
#[cfg(feature = "simulator")]
use crate::offline::fabric;
use crate::whole_fabric::WholeFabric;

/// Most objects of a page.
const PAGE_LIMIT: usize = PAGE_LIMIT_MAX;

/// Reads a fabric.
pub(super) fn read(args: &FabricSourceArgs) -> Result<WholeFabric, Failure> {
    #[cfg(feature = "simulator")]
    if let Some(from) = &args.from {
        return Ok(WholeFabric::of_description(&fabric::load(from)?));
    }
    let service = &args.service;
    let structure = service::send::<FabricStructure>(service, Method::GET, "structure", &[])?;
    let nodes = all(service, "nodes")?;
    let links = all(service, "links")?;
    Ok(WholeFabric::of_answers(nodes, links, structure.answer.body))
}

/// All objects of a list.
pub(super) fn all<T: DeserializeOwned>(
    args: &ServiceDirArgs,
    resource: &str,
) -> Result<Vec<T>, Failure> {
    let endpoint = service::endpoint(args)?;
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = vec![("limit", PAGE_LIMIT.to_string())];
        query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
        let call = Call {
            endpoint: &endpoint,
            method: Method::GET,
            resource,
            query: &query,
            wait: Duration::ZERO,
        };
        let page = call
            .send::<Page<T>>()
            .map_err(|e| failure(args, &endpoint, e))?
            .answer
            .body;
        items.extend(page.items);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(items);
        }
    }
}
