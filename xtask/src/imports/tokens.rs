//! Finds paths in the tokens of a macro call. The tokens have no syntax until the macro expands them.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::tree::Path;

/// The names in the tokens.
#[derive(Default)]
pub(super) struct Names {
    pub(super) paths: Vec<Path>,
    /// Names of the methods that are called.
    pub(super) calls: Vec<String>,
}

impl Names {
    /// Adds the names in the tokens, including those in brackets.
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

/// Returns the punctuation before a token, except the end of a range such as `0..end`.
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

/// Returns the path at the start of the tokens: a word, then words after `::`. A word with its `::` is three tokens.
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
