//! Removes what browsers do not need from a style sheet: comments, and spaces between tokens. It knows just enough of
//! CSS to leave everything else as it is.

/// Returns the style sheet without comments and superfluous spaces.
pub(super) fn minify(style: &str) -> String {
    let mut small = String::with_capacity(style.len());
    let mut rest = style;
    // A space that is written only if what follows needs it.
    let mut has_space = false;
    while let Some(next) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
            has_space = true;
        } else if next.is_ascii_whitespace() {
            rest = rest.trim_ascii_start();
            has_space = true;
        } else {
            let token = token(rest);
            let is_needed = has_space && needs_space(small.chars().next_back(), next);
            if is_needed {
                small.push(' ');
            }
            if token == "}" && small.ends_with(';') {
                small.pop();
            }
            small.push_str(token);
            rest = &rest[token.len()..];
            has_space = false;
        }
    }
    small
}

/// Returns the beginning of `rest` that is copied as it is: a string, an address, an escaped character, or one
/// character.
fn token(rest: &str) -> &str {
    let end = match rest.as_bytes() {
        [quote @ (b'"' | b'\''), ..] => string_end(rest, char::from(*quote)),
        [b'u', b'r', b'l', b'(', next, ..] if !matches!(next, b'"' | b'\'') => {
            rest.find(')').map_or(rest.len(), |end| end + 1)
        }
        [b'\\', ..] => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        _ => rest.chars().next().map_or(0, char::len_utf8),
    };
    &rest[..end]
}

fn string_end(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if letter == quote => return at + letter.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Returns `true` if a space between these characters may mean something. A space before a colon does (`a :hover`), as
/// do spaces around `+` and `-` in `calc`, and before `(` in a media query.
fn needs_space(before: Option<char>, after: char) -> bool {
    before.is_some_and(|before| !"{};,(:".contains(before)) && !"{};,)".contains(after)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::minify;
    use crate::{ui::files_below, workspace};

    #[test]
    fn comments_and_spaces_go_and_what_has_a_meaning_stays() {
        for (style, expected) in [
            ("/* one */\n.a,\n.b {\n  color: red;\n  margin: 0 auto;\n}\n", ".a,.b{color:red;margin:0 auto}"),
            (
                ".a :hover > .b + .c ~ .d { top: calc(1rem + 2 * (3px - var(--x))); }",
                ".a :hover > .b + .c ~ .d{top:calc(1rem + 2 * (3px - var(--x)))}",
            ),
            (
                "@media (max-width: 30rem), not (pointer: coarse) { .a { b: c } }",
                "@media (max-width:30rem),not (pointer:coarse){.a{b:c}}",
            ),
            (".a::before { content: \"/* ; } \\\" */  x\"; }", ".a::before{content:\"/* ; } \\\" */  x\"}"),
            (".a { background: url(a  b.svg) center / contain; }", ".a{background:url(a  b.svg) center / contain}"),
            (".a { src: url( \"a b.woff2\" ) }", ".a{src:url( \"a b.woff2\" )}"),
            (".a { --x: 1px; &:is(.b, .c) { d: e !important } }", ".a{--x:1px;&:is(.b,.c){d:e !important}}"),
            ("a/**/b { }", "a b{}"),
            ("/* never closed", ""),
        ] {
            assert_eq!(minify(style), expected);
        }
    }

    #[test]
    fn the_pages_own_style_keeps_its_rules_and_is_smaller() {
        for file in files_below(&workspace::root().join("frontend/style")).unwrap() {
            let style = fs::read_to_string(&file).unwrap();
            let small = minify(&style);
            assert!(small.len() < style.len(), "{}", file.display());
            assert_eq!(minify(&small), small, "{}: nothing is left to do", file.display());
            let braces = |text: &str| text.matches('{').count();
            let comments: usize =
                style.split("/*").skip(1).map(|part| braces(part.split("*/").next().unwrap_or(""))).sum();
            assert_eq!(braces(&small), braces(&style) - comments, "{}", file.display());
        }
    }
}
