//! Parts of a text without comments, with positions.

use crate::error::InputError;

/// A text whose comments are replaced by spaces, so that positions are preserved.
#[derive(Debug)]
pub(super) struct SourceText {
    plain: String,
}

impl SourceText {
    /// `#` starts a comment anywhere, up to the end of the line.
    pub(super) fn new(text: &str) -> Self {
        Self::read(text, false)
    }

    /// As [`Self::new`], except for `#` within double quotes.
    pub(super) fn with_quotes(text: &str) -> Self {
        Self::read(text, true)
    }

    fn read(text: &str, quotes: bool) -> Self {
        let mut plain = String::with_capacity(text.len());
        let mut comment = false;
        let mut quoted = false;
        for c in text.chars() {
            quoted = quotes && c != '\n' && (quoted ^ (c == '"' && !comment));
            comment = c != '\n' && (comment || c == '#' && !quoted);
            // Characters are preserved one to one: columns count characters.
            plain.push(if comment || c == '\r' { ' ' } else { c });
        }
        Self { plain }
    }

    /// Lines that are not blank. A line that ends with a comma includes the next one if `continues`
    /// accepts it.
    pub(super) fn lines(&self, continues: impl Fn(&str) -> bool) -> Vec<Span<'_>> {
        let mut lines: Vec<Span<'_>> = Vec::new();
        for line in self.split('\n').filter(|line| !line.is_blank()) {
            match lines.last_mut() {
                Some(last) if last.text().ends_with(',') && continues(line.text()) => {
                    last.to = line.to;
                }
                _ => lines.push(line),
            }
        }
        lines
    }

    /// The parts between separators.
    pub(super) fn split(&self, separator: char) -> impl Iterator<Item = Span<'_>> {
        Span {
            text_of_file: &self.plain,
            from: 0,
            to: self.plain.len(),
        }
        .into_split(separator)
    }
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(super) struct Span<'a> {
    text_of_file: &'a str,
    from: usize,
    to: usize,
}

impl<'a> Span<'a> {
    fn raw(&self) -> &'a str {
        &self.text_of_file[self.from..self.to]
    }

    fn subspan(&self, from: usize, to: usize) -> Self {
        Self {
            text_of_file: self.text_of_file,
            from: self.from + from,
            to: self.from + to,
        }
    }

    /// Without surrounding whitespace.
    pub(super) fn text(&self) -> &'a str {
        self.raw().trim()
    }

    pub(super) fn is_blank(&self) -> bool {
        self.text().is_empty()
    }

    /// An empty span at the same position.
    pub(super) fn empty(&self) -> Self {
        self.subspan(0, 0)
    }

    /// Offset of the first word.
    fn start(&self) -> usize {
        self.from + (self.raw().len() - self.raw().trim_start().len())
    }

    /// The first line that is not blank.
    pub(super) fn first_line(&self) -> Self {
        let text = self.text();
        let from = self.start() - self.from;
        let len = text.find('\n').unwrap_or(text.len());
        self.subspan(from, from + len)
    }

    /// What follows `part`, which is within this span.
    pub(super) fn after(&self, part: &Self) -> Self {
        Self {
            from: part.to,
            ..self.clone()
        }
    }

    /// Whether only whitespace precedes the first word on its line.
    pub(super) fn begins_line(&self) -> bool {
        let before = &self.text_of_file[..self.start()];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        before[line_start..].trim().is_empty()
    }

    /// Whether the first line has a `:` that is not part of an MGID: it is probably the header of a
    /// partition.
    pub(super) fn starts_definition(&self) -> bool {
        let line = self.first_line();
        let head = line.text().split_once(':').map(|(head, _)| head);
        head.is_some_and(|head| !head.contains("mgid"))
    }

    /// Whether the text has more than one line.
    pub(super) fn spans_lines(&self) -> bool {
        self.text().contains('\n')
    }

    /// Whether the span starts on the line on which `other` starts.
    pub(super) fn begins_on_line_of(&self, other: &Self) -> bool {
        let gap = self
            .text_of_file
            .get(other.start()..self.from)
            .unwrap_or_default();
        !gap.contains('\n')
    }

    fn into_split(self, separator: char) -> impl Iterator<Item = Span<'a>> {
        let mut at = 0;
        self.raw().split(separator).map(move |part| {
            let from = at;
            at += part.len() + separator.len_utf8();
            self.subspan(from, from + part.len())
        })
    }

    /// The parts between separators.
    pub(super) fn split(&self, separator: char) -> impl Iterator<Item = Span<'a>> + use<'a> {
        self.clone().into_split(separator)
    }

    /// The parts before and after the first separator.
    pub(super) fn split_once(&self, separator: char) -> Option<(Self, Self)> {
        let raw = self.raw();
        let at = raw.find(separator)?;
        let after = at + separator.len_utf8();
        Some((self.subspan(0, at), self.subspan(after, raw.len())))
    }

    /// The parts before and after the last separator.
    pub(super) fn rsplit_once(&self, separator: char) -> Option<(Self, Self)> {
        let raw = self.raw();
        let at = raw.rfind(separator)?;
        let after = at + separator.len_utf8();
        Some((self.subspan(0, at), self.subspan(after, raw.len())))
    }

    /// The first word, and the rest.
    pub(super) fn split_word(&self) -> (Self, Self) {
        let from = self.start() - self.from;
        let word = self.text().split_whitespace().next().unwrap_or_default();
        let to = from + word.len();
        (self.subspan(from, to), self.subspan(to, self.raw().len()))
    }

    /// The items of a comma-separated list; commas within double quotes do not separate.
    pub(super) fn items(&self) -> Vec<Self> {
        let mut items = Vec::new();
        let mut from = 0;
        let mut quoted = false;
        for (at, c) in self.raw().char_indices() {
            quoted ^= c == '"';
            if c == ',' && !quoted {
                items.push(self.subspan(from, at));
                from = at + 1;
            }
        }
        items.push(self.subspan(from, self.raw().len()));
        items
    }

    /// The text without surrounding double quotes.
    pub(super) fn unquoted(&self) -> &'a str {
        let text = self.text();
        let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        inner.map_or(text, str::trim)
    }

    /// Line number, from 1.
    pub(super) fn line(&self) -> usize {
        self.text_of_file[..self.start()].matches('\n').count() + 1
    }

    /// The first item, and the rest.
    pub(super) fn split_item(&self) -> (Self, Option<Self>) {
        match self.split_once(',') {
            Some((item, rest)) => (item, Some(rest)),
            None => (self.clone(), None),
        }
    }

    /// The rest of the first line, and the following lines.
    pub(super) fn split_line(&self) -> (Self, Option<Self>) {
        match self.split_once('\n') {
            Some((line, rest)) => (line, Some(rest)),
            None => (self.clone(), None),
        }
    }

    /// `name` or `name=value`.
    pub(super) fn name_and_value(&self) -> (Self, Option<Self>) {
        match self.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (self.clone(), None),
        }
    }

    /// An error at the start of this span.
    pub(super) fn error(&self, message: impl Into<String>) -> InputError {
        let before = &self.text_of_file[..self.start()];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.matches('\n').count() + 1;
        InputError::at(line, before[line_start..].chars().count() + 1, message)
    }

    /// A warning at the beginning.
    pub(super) fn warning(&self, message: impl Into<String>) -> InputError {
        InputError {
            is_warning: true,
            ..self.error(message)
        }
    }
}
