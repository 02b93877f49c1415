//! `ferrosm keys`: management keys, and who has them.

use core::time::Duration;
use std::fs;
use std::path::Path;

use ferrosm_api::key::{Keys, NewKey, RotationPlan};
use hyper::Method;

use super::ask::ask;
use super::control::{Request, execute};
use super::service::{endpoint, failure};
use crate::api::client::Call;
use crate::cli::{KeysCommand, ServiceArgs};
use crate::failure::Failure;
use crate::output::{self, keys as text};

/// Most bytes of a key file: the key is one line.
const KEY_FILE_MAX: u64 = 256;

/// Runs `keys`.
///
/// # Errors
/// If no service answers, it refuses the rotation, or the key file has no key.
pub fn run(command: &KeysCommand) -> Result<(), Failure> {
    match command {
        KeysCommand::Status(args) => ask::<Keys>(args, "keys", &[], text::status).map(drop),
        KeysCommand::Rotate {
            key,
            key_file,
            dry_run,
            accept,
            service,
        } => {
            let resource = format!("keys/{}/rotate", key.name());
            let key = key_file.as_deref().map(read_key).transpose()?;
            if *dry_run {
                return plan(service, &resource);
            }
            let is_random = key.is_none();
            let request = Request::new(Method::POST, &resource)
                .with_option(accept.map(|_| ("accept", "lockout")))
                .with_body(&NewKey { key })?;
            execute(service, &request)?;
            match is_random && !service.json {
                true => output::print(RANDOM_KEY),
                false => Ok(()),
            }
        }
    }
}

/// What follows from a key that no file has.
const RANDOM_KEY: &str = "The key is random: only the state directories of the SMs have it, and `ferrosm health` says so. For a key that is \
    also in the configuration, rotate to that of a file (--key-file), then set it on all SMs.\n";

fn plan(args: &ServiceArgs, resource: &str) -> Result<(), Failure> {
    let endpoint = endpoint(&args.service)?;
    let query = [("dry_run", "true".to_owned())];
    let call = Call {
        endpoint: &endpoint,
        method: Method::POST,
        resource,
        query: &query,
        wait: Duration::ZERO,
    };
    let received = call
        .send_body::<RotationPlan>(b"{}".to_vec())
        .map_err(|e| failure(&args.service, &endpoint, e))?;
    if args.json {
        return output::print(&format!("{}\n", received.json));
    }
    output::print(&text::plan(&received.answer.body))
}

/// The key in a file. No message shows it.
fn read_key(path: &Path) -> Result<String, Failure> {
    let hint = "The file has one line of up to 16 hexadecimal digits.";
    let fail = |why: String| Failure::with_hint(format!("{}: {why}", path.display()), hint);
    let size = fs::metadata(path).map_err(|e| fail(e.to_string()))?.len();
    if size > KEY_FILE_MAX {
        return Err(fail("not a key file".to_owned()));
    }
    let content = fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
    let key = content.trim();
    let digits = key.strip_prefix("0x").unwrap_or(key);
    let is_key = (1..=16).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_key {
        Ok(key.to_owned())
    } else {
        Err(fail("not a key".to_owned()))
    }
}
