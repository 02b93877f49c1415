//! Notifications by a program, which gets JSON on its standard input.

use std::process::Stdio;

use ferrosm_api::alarm::Notification;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::SendError;

/// Search path of the program; nothing else of the environment of the service.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs a program until it exits. It is killed if this is cancelled.
pub(super) async fn send(command: &[String], notice: &Notification) -> Result<(), SendError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(SendError::new("no program"));
    };
    let mut input = serde_json::to_vec(notice).map_err(SendError::new)?;
    input.push(b'\n');
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .env("PATH", SEARCH_PATH)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|e| SendError::new(format!("cannot run {program}: {e}")))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input may still succeed.
        let _ = stdin.write_all(&input).await;
    }
    let status = child.wait().await.map_err(SendError::new)?;
    match status.success() {
        true => Ok(()),
        false => Err(SendError::new(format!("{program}: {status}"))),
    }
}
