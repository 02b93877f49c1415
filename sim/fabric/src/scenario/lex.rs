//! Tokens of a line: words, quoted texts and brackets, with their columns.

use super::error::{ScenarioError, ScenarioProblem};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Quoted(String),
    Open,
    Close,
}

impl Token {
    /// Text for error messages.
    pub(super) fn for_message(&self) -> String {
        match self {
            Self::Word(text) => format!("`{text}`"),
            Self::Quoted(text) => format!("{text:?}"),
            Self::Open => "`[`".to_owned(),
            Self::Close => "`]`".to_owned(),
        }
    }
}

/// The tokens of a line up to a comment, and the column after the last one.
pub(super) fn tokens(line: &str) -> Result<(Vec<(Token, u32)>, u32), ScenarioError> {
    let mut results = Vec::new();
    let mut chars = line.chars().zip(1u32..).peekable();
    let mut end = 1;
    while let Some(&(c, column)) = chars.peek() {
        if c == '#' {
            break;
        }
        chars.next();
        if c.is_whitespace() {
            continue;
        }
        end = column + 1;
        let token = match c {
            '[' => Token::Open,
            ']' => Token::Close,
            '"' => {
                let mut text = String::new();
                loop {
                    let Some((c, at)) = chars.next() else {
                        return Err(ScenarioError::new(column, ScenarioProblem::OpenQuote));
                    };
                    end = at + 1;
                    match c {
                        '"' => break,
                        // A backslash escapes the next character.
                        '\\' => text.extend(chars.next().map(|(c, _)| c)),
                        c => text.push(c),
                    }
                }
                Token::Quoted(text)
            }
            c => {
                let mut text = String::from(c);
                while let Some((c, at)) = chars.next_if(|(c, _)| is_word_char(*c)) {
                    text.push(c);
                    end = at + 1;
                }
                Token::Word(text)
            }
        };
        results.push((token, column));
    }
    Ok((results, end))
}

/// Whether a character can be part of a word.
pub(super) fn is_word_char(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, '[' | ']' | '"' | '#')
}
