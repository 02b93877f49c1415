//! Log levels: one level, or levels by module.

use tracing_subscriber::filter::{LevelFilter, Targets};

/// Prefix of the modules whose level can be set.
const PROGRAM: &str = "ferrosm";

/// Parses a value of `log.level`: a level, or a comma-separated list of a level and `MODULE=LEVEL`.
/// A misspelt level is rejected; the parser of [`Targets`] would take it for a module and log
/// nothing else.
#[must_use]
pub fn parse_log_level(text: &str) -> Option<Targets> {
    let is_valid = |directive: &str| {
        let (module, level) = directive.split_once('=').unwrap_or((PROGRAM, directive));
        module.starts_with(PROGRAM) && !level.is_empty() && level.parse::<LevelFilter>().is_ok()
    };
    let directives: Vec<&str> = text.split(',').map(str::trim).collect();
    let is_default = |directive: &&str| !directive.contains('=');
    let defaults = directives.iter().copied().filter(|d| is_default(d)).count();
    (defaults == 1 && directives.iter().all(|d| is_valid(d)))
        .then(|| directives.join(",").parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_lists_of_modules_are_accepted() {
        for text in [
            "info",
            "WARN",
            "off",
            "info,ferrosm_core=debug",
            "error, ferrosm=trace",
        ] {
            assert!(parse_log_level(text).is_some(), "{text}");
        }
    }

    /// With any of these, [`Targets`] would log nothing or almost nothing.
    #[test]
    fn misspelt_levels_are_rejected() {
        for text in [
            "",
            "loud",
            "inf0",
            "info,=",
            "info,ferrosm_core",
            "ferrosm_core=debug",
            "info,tokio=debug",
            "info,warn",
        ] {
            assert!(parse_log_level(text).is_none(), "{text}");
        }
    }
}
