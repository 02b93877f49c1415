//! The systemd unit, checked by systemd.

use ferrosm_tests::programs::paths;
use ferrosm_tests::programs::process::Launch;
use ferrosm_tests::programs::scratch::Scratch;
use std::fs;
use std::time::Duration;

const UNIT: &str = "dist/ferrosm.service";

/// systemd ignores unknown keys with only a warning.
#[test]
fn systemd_accepts_the_unit_without_warnings() {
    let scratch = Scratch::new("unit");
    let text = fs::read_to_string(paths::workspace().join(UNIT))
        .unwrap_or_else(|error| panic!("{UNIT}: {error}"));
    // The program need not be installed on the test machine.
    let installed = "/usr/sbin/ferrosm ";
    assert!(text.contains(&format!("ExecStart={installed}")), "{text}");
    let built = format!("{} ", paths::ferrosm().display());
    let verify = |text: &str| {
        let file = scratch.join("ferrosm.service");
        fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        Launch::new("systemd-analyze")
            .args(&["verify", "--man=no", &*file.to_string_lossy()])
            .start(scratch.path())
            .wait(Duration::from_secs(60))
    };
    let unit = text.replace(installed, &built);
    let verdict = verify(&unit).expect_success();
    assert_eq!(verdict.stderr, "", "{}", verdict.describe());
    let invalid = verify(&unit.replace("RestartSec=", "RestartSeconds="));
    assert!(
        invalid.stderr.contains("RestartSeconds"),
        "{}",
        invalid.describe()
    );
}
