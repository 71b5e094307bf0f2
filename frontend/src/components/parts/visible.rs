//! A text from outside with codes in the place of characters that cannot be seen, and the warning that names them.

use leptos::prelude::*;

use crate::{
    invisible::{Found, Piece, blank_lines_of, codes, pieces},
    language::Language,
};

/// A text has this many elements at most for its codes; further codes are part of the text around them.
const MAX_MARKS: usize = 1000;

/// The text, for an element that keeps line breaks.
pub(crate) fn visible(content: &str, text: Language) -> AnyView {
    let pieces = pieces(content);
    if let [Piece::Plain(_)] | [] = pieces[..] {
        return content.to_owned().into_any();
    }
    let (mut views, mut marks, mut words) = (Vec::new(), 0, String::new());
    for piece in pieces {
        let code = match piece {
            Piece::Plain(plain) => {
                words.push_str(plain);
                continue;
            }
            Piece::Hidden(hidden) => codes(hidden),
            Piece::BlankLines(lines) => blank_lines_of(text, lines),
        };
        marks += 1;
        if marks > MAX_MARKS {
            words.push_str(&code);
        } else {
            views.push(std::mem::take(&mut words).into_any());
            views.push(view! { <span class="code-point">{code}</span> }.into_any());
        }
    }
    views.push(words.into_any());
    views.into_any()
}

/// Names what was found; nothing if nothing was.
pub(crate) fn warning_view(found: Found, text: Language) -> Option<AnyView> {
    let words = found.warning(text)?;
    Some(view! { <p class="code-point-warning" role="note" data-testid="hidden-characters">{words}</p> }.into_any())
}
