//! Paths within what a macro is given, which is no syntax until the macro has made some of it.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::tree::Path;

/// What the tokens name.
#[derive(Default)]
pub(super) struct Names {
    pub(super) paths: Vec<Path>,
    /// The names of methods that are called.
    pub(super) calls: Vec<String>,
}

impl Names {
    /// Takes in the tokens, and those in brackets among them.
    pub(super) fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Ident(first) => match before(&tokens, at) {
                    Some('.') if is_in_brackets(tokens.get(at + 1)) => self.calls.push(first.to_string()),
                    // A field or a lifetime.
                    Some('.' | '\'') => {}
                    _ => {
                        let path = path(&tokens[at..]);
                        at += 3 * (path.len() - 1);
                        self.paths.push(path);
                    }
                },
                _ => {}
            }
            at += 1;
        }
    }
}

/// The punctuation before a token, but for the end of a range such as `0..end`.
fn before(tokens: &[TokenTree], at: usize) -> Option<char> {
    let mark = |back: usize| match tokens.get(at.checked_sub(back)?)? {
        TokenTree::Punct(mark) => Some(mark.as_char()),
        _ => None,
    };
    mark(1).filter(|last| *last != '.' || mark(2) != Some('.'))
}

fn is_in_brackets(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
}

/// The path that the tokens begin with: a word, and words after `::`, each of which is three tokens.
fn path(tokens: &[TokenTree]) -> Path {
    let words = tokens.chunks(3).map_while(|three| match three {
        [TokenTree::Ident(word), ..] => Some((word.to_string(), is_colons(&three[1..]))),
        _ => None,
    });
    let mut path = Path::new();
    for (word, goes_on) in words {
        path.push(word);
        if !goes_on {
            break;
        }
    }
    path
}

fn is_colons(two: &[TokenTree]) -> bool {
    matches!(two, [TokenTree::Punct(first), TokenTree::Punct(second)] if first.as_char() == ':' && second.as_char() == ':')
}
