//! Host lists as operators write them: `gpu[01-03,07]`.

use thiserror::Error;

/// Most names of a host list.
pub const NAMES_MAX: usize = 100_000;

/// Most brackets of a host list.
const BRACKETS_MAX: usize = 8;

/// Why a text is no host list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostListError {
    #[error("`{0}` is no host list; expected a form such as gpu[01-16,20]")]
    Malformed(String),
    #[error("`{0}` names more than {NAMES_MAX} hosts")]
    TooMany(String),
    #[error("a host list has at most {BRACKETS_MAX} brackets")]
    TooManyBrackets,
}

/// The names of a host list: `gpu[01-03,07]` stands for gpu01, gpu02, gpu03 and gpu07. A text
/// without brackets is one name.
///
/// # Errors
/// The brackets contain no numbers, or there are too many names.
pub fn host_list(text: &str) -> Result<Vec<String>, HostListError> {
    // Each is one call deep.
    if text.matches('[').count() > BRACKETS_MAX {
        return Err(HostListError::TooManyBrackets);
    }
    let Some((prefix, rest)) = text.split_once('[') else {
        return Ok(vec![text.to_owned()]);
    };
    let error = || HostListError::Malformed(text.to_owned());
    let (ranges, suffix) = rest.split_once(']').ok_or_else(error)?;
    let suffixes = host_list(suffix)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return Err(error());
        }
        let from: u32 = first.parse().map_err(|_| error())?;
        let to: u32 = last.parse().map_err(|_| error())?;
        let count = to.checked_sub(from).ok_or_else(error)? as usize + 1;
        if (names.len() + count).saturating_mul(suffixes.len()) > NAMES_MAX {
            return Err(HostListError::TooMany(text.to_owned()));
        }
        let width = first.len();
        for number in from..=to {
            let start = format!("{prefix}{number:0width$}");
            names.extend(suffixes.iter().map(|suffix| format!("{start}{suffix}")));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_lists_are_expanded() {
        let names = |text: &str| host_list(text).unwrap();
        assert_eq!(names("gpu1"), ["gpu1"]);
        assert_eq!(names("gpu[08-10,2]"), ["gpu08", "gpu09", "gpu10", "gpu2"]);
        assert_eq!(names("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        for text in [
            "gpu[",
            "gpu[]",
            "gpu[a-b]",
            "gpu[3-1]",
            "gpu[1-99999999]",
            "a[1-50000]b[1-9]",
            &"[0]".repeat(20_000),
        ] {
            assert!(host_list(text).is_err(), "{text}");
        }
    }
}
