//! What a bug report does not show: keys, and if wanted GUIDs, GIDs and names. Each has one
//! pseudonym in the whole archive.
//!
//! Keys are replaced in the fields of MADs ([`KeyMask`]). In texts, numbers of at least 9
//! hexadecimal or 10 decimal digits are compared with the known keys, in both byte orders.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use ferrosm_recording::keys::KeyMask;

/// Digits of a key of 8 bytes.
const KEY_DIGITS: usize = 16;
/// A key in a text has at least this number of hexadecimal digits.
const DIGITS_MIN: usize = 9;
/// In a capture: the type of a block with a packet, its position in the block, and the headers
/// before the MAD.
const PACKET_BLOCK: u32 = 6;
const PACKET_AT: usize = 28;
const HEADERS_LEN: usize = 16 + 8 + 12 + 8;
const CHECKSUMS_LEN: usize = 6;

/// The pseudonyms of one archive.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    pub(super) keys: KeyMask,
    names: Option<Names>,
}

/// Pseudonyms of names and GUIDs.
#[derive(Debug, Default)]
struct Names {
    /// By name.
    names: BTreeMap<String, String>,
    /// By GUID.
    guids: BTreeMap<u64, u64>,
}

impl Redaction {
    pub(super) fn new(anonymize: bool) -> Self {
        Self {
            keys: KeyMask::default(),
            names: anonymize.then(Names::default),
        }
    }

    pub(super) const fn is_anonymous(&self) -> bool {
        self.names.is_some()
    }

    /// Replaces a name from now on, and its first word, which is that of the host.
    pub(super) fn add_name(&mut self, name: &str) {
        let Some(names) = &mut self.names else {
            return;
        };
        let host = name.split_whitespace().next().unwrap_or_default();
        for name in [name, host] {
            if name.len() > 2 && !names.names.contains_key(name) {
                let pseudonym = format!("name-{}", names.names.len() + 1);
                names.names.insert(name.to_owned(), pseudonym);
            }
        }
    }

    /// A text without what is not shown.
    pub(super) fn text(&mut self, text: &str) -> String {
        let known = self.known_keys();
        let without_keys = replace_tokens(text, is_digit, |token| key_pseudonym(token, &known));
        let Some(names) = &mut self.names else {
            return without_keys;
        };
        let without_names = names.replace_names(&without_keys);
        let is_address = |c: char| is_digit(c) || c == ':';
        let without_gids = replace_tokens(&without_names, is_address, |token| names.gid(token));
        replace_tokens(&without_gids, is_digit, |token| names.guid_text(token))
    }

    /// Keys as digits, and those of their pseudonyms.
    fn known_keys(&self) -> BTreeMap<String, String> {
        let mut known = BTreeMap::new();
        for (key, pseudonym) in self.keys.iter() {
            let reverse = |bytes: &[u8]| bytes.iter().rev().copied().collect::<Vec<u8>>();
            known.insert(hex::encode(key), hex::encode(pseudonym));
            known.insert(hex::encode(reverse(key)), hex::encode(reverse(pseudonym)));
        }
        known
    }

    /// A capture without keys; it ends before a block that is cut off.
    pub(super) fn capture(&mut self, mut capture: Vec<u8>) -> Vec<u8> {
        let word = |bytes: &[u8], at: usize| {
            let word = bytes.get(at..at + 4).and_then(|word| word.first_chunk());
            word.map(|word| u32::from_le_bytes(*word))
        };
        let mut at = 0;
        while let Some(block_type) = word(&capture, at)
            && let Some(len) = word(&capture, at + 4).and_then(|len| usize::try_from(len).ok())
            && let Some(block) = capture.get_mut(at..at + len)
            && len >= 12
        {
            if block_type == PACKET_BLOCK
                && let Some(packet_len) = word(block, 20).and_then(|len| usize::try_from(len).ok())
                && let Some(packet) = block.get_mut(PACKET_AT..PACKET_AT + packet_len)
            {
                let end = packet.len().saturating_sub(CHECKSUMS_LEN);
                if let Some(mad) = packet.get_mut(HEADERS_LEN..end) {
                    self.keys.replace_in_mad(mad);
                }
            }
            at += len;
        }
        capture.truncate(at);
        capture
    }
}

const fn is_digit(c: char) -> bool {
    c.is_ascii_hexdigit()
}

/// Replaces the longest runs of characters that are `part` of a token.
fn replace_tokens(
    text: &str,
    part: impl Fn(char) -> bool,
    mut pseudonym: impl FnMut(&str) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(&part) {
        let (before, tail) = rest.split_at(begin);
        let end = tail.find(|c| !part(c)).unwrap_or(tail.len());
        let (token, after) = tail.split_at(end);
        out.push_str(before);
        match pseudonym(token) {
            Some(pseudonym) => out.push_str(&pseudonym),
            None => out.push_str(token),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A number without the keys in it; `None` if there are none.
fn key_pseudonym(token: &str, known: &BTreeMap<String, String>) -> Option<String> {
    if token.len() < DIGITS_MIN {
        return None;
    }
    let token = token.to_ascii_lowercase();
    let decimal: Option<u64> = token.parse().ok();
    if let Some(pseudonym) = decimal.and_then(|key| known.get(&format!("{key:016x}"))) {
        return u64::from_str_radix(pseudonym, 16)
            .ok()
            .map(|key| key.to_string());
    }
    if token.len() < KEY_DIGITS {
        // Without leading zeros.
        return known.get(&format!("{token:0>16}")).cloned();
    }
    let mut out = String::new();
    let mut rest = &token[..];
    let mut has_key = false;
    while !rest.is_empty() {
        let found = [2 * KEY_DIGITS, KEY_DIGITS]
            .into_iter()
            .find_map(|len| Some((len, known.get(rest.get(..len)?)?)));
        let len = match found {
            Some((len, pseudonym)) => {
                has_key = true;
                out.push_str(pseudonym);
                len
            }
            None => {
                out.push_str(&rest[..1]);
                1
            }
        };
        rest = &rest[len..];
    }
    has_key.then_some(out)
}

impl Names {
    fn guid(&mut self, guid: u64) -> u64 {
        /// First pseudonym. No vendor has its first three bytes.
        const FIRST: u64 = 0xFEFE_FE00_0000_0001;
        let next = FIRST + self.guids.len() as u64;
        // A pseudonym stays as it is: a text may be passed on twice.
        if guid == 0 || guid >= FIRST && guid < next {
            return guid;
        }
        *self.guids.entry(guid).or_insert(next)
    }

    /// A GUID: 16 digits, or those of a known one without leading zeros.
    fn guid_text(&mut self, token: &str) -> Option<String> {
        let guid = u64::from_str_radix(token, 16).ok()?;
        let is_known = token.len() >= DIGITS_MIN && self.guids.contains_key(&guid);
        let is_guid = token.len() == KEY_DIGITS && !is_key_pseudonym(token);
        (is_guid || is_known).then(|| format!("{:016x}", self.guid(guid)))
    }

    /// A GID, whose interface identifier is a GUID, or a multicast GID with an IP address.
    fn gid(&mut self, token: &str) -> Option<String> {
        if token.matches(':').count() < 2 {
            return None;
        }
        let mut parts = token.parse::<Ipv6Addr>().ok()?.octets();
        let (_, identifier) = parts.split_at_mut(8);
        let number = u64::from_be_bytes(identifier.try_into().ok()?);
        // The broadcast group has ones.
        if number != 0 && number != 0xFFFF_FFFF {
            identifier.copy_from_slice(&self.guid(number).to_be_bytes());
        }
        Some(Ipv6Addr::from(parts).to_string())
    }

    /// Replaces whole names, the longest first.
    fn replace_names(&self, text: &str) -> String {
        let mut names: Vec<(&String, &String)> = self.names.iter().collect();
        names.sort_by_key(|(name, _)| (core::cmp::Reverse(name.len()), *name));
        let mut by_first: BTreeMap<char, Vec<(&String, &String)>> = BTreeMap::new();
        for (name, pseudonym) in names {
            if let Some(first) = name.chars().next() {
                by_first.entry(first).or_default().push((name, pseudonym));
            }
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut last = ' ';
        while let Some(first) = rest.chars().next() {
            let candidates = by_first.get(&first).filter(|_| !is_of_name(last));
            let found = candidates.and_then(|all| {
                all.iter().find(|(name, _)| {
                    let after = rest.strip_prefix(name.as_str());
                    after.is_some_and(|after| !after.starts_with(is_of_name))
                })
            });
            let len = match found {
                Some((name, pseudonym)) => {
                    out.push_str(pseudonym);
                    name.len()
                }
                None => {
                    out.push(first);
                    first.len_utf8()
                }
            };
            let (replaced, after) = rest.split_at(len);
            last = replaced.chars().next_back().unwrap_or(' ');
            rest = after;
        }
        out
    }
}

/// Whether a character continues a name.
const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Pseudonyms of keys begin with `MASK`.
fn is_key_pseudonym(digits: &str) -> bool {
    digits.starts_with("4d41534b")
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::MKey;

    use super::*;

    const KEY: u64 = 0xC0FF_EE12_3456_789A;

    fn with_keys(anonymize: bool) -> Redaction {
        let mut redaction = Redaction::new(anonymize);
        let _ = redaction.keys.of(MKey::new(KEY));
        let _ = redaction.keys.of(MKey::new(0x1_2345_6789));
        redaction
    }

    #[test]
    fn keys_in_texts_are_replaced_in_all_forms() {
        let mut redaction = with_keys(false);
        let forms = [
            format!("0x{KEY:x}"),
            format!("{KEY:X}"),
            format!("{KEY}"),
            hex::encode(KEY.to_le_bytes()),
            format!("00{KEY:016x}ff{KEY:016x}"),
            "0x123456789".to_owned(),
            "0x0000000123456789".to_owned(),
        ];
        for form in forms {
            let text = redaction.text(&format!("key {form}."));
            assert!(!text.contains(&form[2..]), "{form}: {text}");
            assert!(text.starts_with("key ") && text.ends_with('.'), "{text}");
        }
        let other = "LID 17, GUID 0x0002c90300a1b2c3, 2026-11-30T05:15:12.000Z, gpu01";
        assert_eq!(redaction.text(other), other);
    }

    #[test]
    fn names_and_guids_have_one_pseudonym_each() {
        let mut redaction = with_keys(true);
        redaction.add_name("gpu-1 mlx5_0");
        redaction.add_name("gpu-10");
        let text = "gpu-1 mlx5_0 - gpu-10/3 0x0002c90300a1b2c3 fe80::2:c903:a1:b2c3 2c90300a1b2c3 agpu-10 \
                    ff12:401b:ffff::ffff:ffff";
        let anonymous = redaction.text(text);
        assert_eq!(
            anonymous,
            "name-1 - name-3/3 0xfefefe0000000001 fe80::fefe:fe00:0:1 fefefe0000000001 agpu-10 \
             ff12:401b:ffff::ffff:ffff"
        );
        assert_eq!(redaction.text(&anonymous), anonymous);
    }
}
