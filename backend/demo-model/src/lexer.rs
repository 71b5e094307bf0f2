//! Splits a question into tokens: numbers, signs, and the phrases of the vocabulary. Everything else is noise.

use tallybook_tools::notation::plain;

use super::{
    expr::Op,
    numerals::{number_in_words, scale},
    token::Token,
    vocabulary::phrase,
};

/// Maximum number of tokens in a question.
const MAX_TOKENS: usize = 200;

/// Error for a question with more than [`MAX_TOKENS`] tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyTokens;

/// Splits a question into tokens. Fillers are left out.
pub(crate) fn tokens(question: &str) -> Result<Vec<Token>, TooManyTokens> {
    let plain: String = question.chars().map(plain).flat_map(char::to_lowercase).collect();
    let text = plain.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = text.collect::<Vec<_>>().join("\n").replace('’', "'");
    let mut lexer = Lexer { text: &text, at: 0, tokens: Vec::new() };
    while lexer.at < text.len() {
        lexer.step();
        if lexer.tokens.len() > MAX_TOKENS {
            return Err(TooManyTokens);
        }
    }
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    /// Takes one token, filler or space; always at least one character.
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let Some(c) = rest.chars().next() else { return };
        if c.is_ascii_digit() || (c == '.' && digit_at(rest, 1)) {
            self.number();
        } else if c.is_alphabetic() || c == '&' {
            self.word(c);
        } else {
            self.sign(c);
        }
    }

    fn take(&mut self, bytes: usize, token: Option<Token>) {
        self.at += bytes;
        self.tokens.extend(token);
    }

    fn number(&mut self) {
        let rest = &self.text[self.at..];
        let mut end = digits_end(rest, 0);
        // Commas must group three digits. Any other comma between digits makes the number ambiguous.
        let mut grouped = end;
        while end <= 3 && rest[grouped..].starts_with(',') && digits_end(rest, grouped + 1) == grouped + 4 {
            grouped += 4;
        }
        end = grouped;
        let open = rest[end..].starts_with([',', ':']) && digit_at(rest, end + 1);
        let whole = rest[..end].replace(',', "");
        let mut fraction = "";
        if rest[end..].starts_with('.') && digit_at(rest, end + 1) {
            let start = end + 1;
            end = digits_end(rest, start);
            fraction = &rest[start..end];
        }
        let exponent_end = exponent_end(rest, end);
        let exponent = &rest[end..exponent_end];
        end = exponent_end;
        // `$5`, `x2`, `½5`: a prefix without a space changes the number in a way that is not known here.
        let before = self.text[..self.at].chars().next_back().filter(|_| self.tokens.last() == Some(&Token::Noise));
        let glued = before.is_some_and(|c| !c.is_whitespace() && (c.is_ascii() || !c.is_alphabetic()));
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if open || glued || leading_zero {
            return self.take(end, Some(Token::Unclear));
        }
        let whole = if whole.is_empty() { "0".to_owned() } else { whole };
        let mut number = if fraction.is_empty() { whole.clone() } else { format!("{whole}.{fraction}") };
        number.push_str(exponent);
        if exponent.is_empty()
            && let Some((power, bytes)) = scale(&rest[end..])
        {
            number = shifted(&whole, fraction, power);
            end += bytes;
        }
        self.take(end, Some(Token::Number(number)));
    }

    fn word(&mut self, c: char) {
        let rest = &self.text[self.at..];
        if c == 'x' && self.is_times_sign() {
            return self.take(1, Some(Token::Op(Op::Mul)));
        }
        let word_end = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '\'').unwrap_or(rest.len());
        if word_end > 0 && self.text[..self.at].ends_with(|c: char| c.is_ascii_digit()) {
            // `3i`, `2k`: whatever the letters mean, they belong to the number.
            return self.noise(word_end);
        }
        let known = phrase(rest);
        let number = number_in_words(rest).filter(|(_, bytes)| {
            known.as_ref().is_none_or(|(_, length)| length < bytes)
                && !rest[*bytes..].starts_with(|c: char| c.is_ascii_alphabetic())
        });
        if let Some((value, bytes)) = number {
            return self.take(bytes, Some(Token::Number(value.to_string())));
        }
        if let Some((token, bytes)) = known {
            return self.take(bytes, token);
        }
        match c {
            'π' => self.take(c.len_utf8(), Some(Token::Pi)),
            'a'..='z' => self.noise(word_end),
            _ => self.noise(c.len_utf8()),
        }
    }

    /// Returns `true` if an `x` is a multiplication sign: it has spaces on both sides, or operands directly on both
    /// sides. In `2x + 1` it is an unknown.
    fn is_times_sign(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let after = self.text[self.at + 1..].chars().next();
        let operand = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit() || matches!(c, '(' | ')'));
        (before == Some(' ') && after == Some(' ')) || (operand(before) && operand(after))
    }

    fn sign(&mut self, c: char) {
        let rest = &self.text[self.at..];
        let token = match c {
            '*' if rest.starts_with("**") => return self.take(2, Some(Token::Op(Op::Pow))),
            '+' => Token::Op(Op::Add),
            '-' => Token::Op(Op::Sub),
            '*' => Token::Op(Op::Mul),
            '/' => Token::Op(Op::Div),
            '^' => Token::Op(Op::Pow),
            '(' => Token::Open,
            ')' => Token::Close,
            '%' => Token::Percent,
            '²' => Token::Power("2"),
            '³' => Token::Power("3"),
            '√' => Token::Func("sqrt"),
            ',' | '、' => Token::Comma,
            '.' | '!' | '?' | ';' | ':' | '=' | '。' | '\n' => Token::Break,
            // Quotes and emoji change nothing.
            ' ' | '"' | '\'' | '`' | '“' | '”' | '‘' | '「' | '」' | '『' | '』' => {
                return self.take(c.len_utf8(), None);
            }
            '\u{2600}'..='\u{26ff}' | '\u{fe0f}' | '\u{1f300}'..='\u{1faff}' => return self.take(c.len_utf8(), None),
            _ => return self.noise(c.len_utf8()),
        };
        self.take(c.len_utf8(), Some(token));
    }

    /// Makes adjacent noise one token, so that long prose does not count as a long calculation.
    fn noise(&mut self, bytes: usize) {
        let again = self.tokens.last() == Some(&Token::Noise);
        self.take(bytes, (!again).then_some(Token::Noise));
    }
}

fn digit_at(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
}

fn digits_end(text: &str, start: usize) -> usize {
    text.bytes().skip(start).position(|b| !b.is_ascii_digit()).map_or(text.len(), |length| start + length)
}

/// Returns the end of an exponent that begins at `start`, or `start` if there is none.
fn exponent_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    if bytes.get(start) != Some(&b'e') {
        return start;
    }
    let digits = start + 1 + usize::from(matches!(bytes.get(start + 1), Some(b'+' | b'-')));
    if digit_at(text, digits) { digits_end(text, digits) } else { start }
}

/// Returns `whole.fraction` times ten to the power of `power`, by moving the decimal point.
fn shifted(whole: &str, fraction: &str, power: usize) -> String {
    let padded = format!("{fraction:0<power$}");
    let (into_whole, rest) = padded.split_at(power);
    let whole = format!("{whole}{into_whole}");
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    if rest.is_empty() { whole.to_owned() } else { format!("{whole}.{rest}") }
}
