//! The order in which people expect names: `leaf-2` before `leaf-10`.

use core::cmp::Ordering;

/// Compares two names; numbers in them by value.
#[must_use]
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let mut left = a;
    let mut right = b;
    loop {
        let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) else {
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let [m, n] = [left, right].map(number);
            // A longer number without leading zeros is greater.
            let [p, q] = [m, n].map(|digits| digits.trim_start_matches('0'));
            let order = p.len().cmp(&q.len()).then_with(|| p.cmp(q));
            if order.is_ne() {
                return order;
            }
            left = &left[m.len()..];
            right = &right[n.len()..];
        } else if x == y {
            left = &left[x.len_utf8()..];
            right = &right[y.len_utf8()..];
        } else {
            return x.cmp(&y);
        }
    }
}

/// The digits at the start of a text.
fn number(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit());
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let mut names = ["leaf-10", "leaf-2", "a", "leaf-02", "leaf-2-1", "leaf"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["a", "leaf", "leaf-02", "leaf-2", "leaf-2-1", "leaf-10"]
        );
    }
}
