//! Finds formulas in Markdown: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`, all of which are common in models' answers.
//!
//! Markdown would treat characters of formulas as emphasis, escapes and links. So formulas are found first, outside of
//! code and addresses. They are then hidden from the parser behind words of the same length, which `render` replaces
//! with the formulas. A line of a formula may look like a list item. So splitting into blocks also uses this module
//! ([`with_neutral_line_starts`]). The typesetter (`tallybook-typeset`) renders formulas. Until it is loaded, a formula
//! is shown as its source.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use crate::OPTIONS;

/// A formula in a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Formula {
    /// Position in the block's source, including the delimiters.
    pub(crate) range: Range<usize>,
    /// The TeX, without the delimiters.
    pub(crate) tex: String,
    /// The TeX with its delimiters, which is shown until the formula is typeset.
    pub(crate) text: String,
    /// `true` if the formula is on a line of its own.
    pub(crate) display: bool,
}

/// A delimiter that may start or end a formula, or a break that no formula spans.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Dollar,
    Dollars,
    Open {
        display: bool,
    },
    Close {
        display: bool,
    },
    /// The end of a paragraph or cell, or code.
    Break,
}

/// Returns the formulas of a block, in order.
pub(crate) fn find(source: &str) -> Vec<Formula> {
    if !["$", "\\(", "\\["].iter().any(|mark| source.contains(mark)) {
        return Vec::new();
    }
    let marks = marks(source);
    let partners = partners(&marks);
    let mut formulas = Vec::new();
    let mut index = 0;
    while let Some(&(start, mark)) = marks.get(index) {
        let found = partners[index].and_then(|partner| {
            let end = marks[partner].0 + mark.len();
            Some((formula(source, start..end, mark)?, partner))
        });
        if let Some((formula, partner)) = found {
            formulas.push(formula);
            index = partner;
        }
        index += 1;
    }
    formulas
}

/// Returns the text with changes that keep formulas in one block. In the lines of a formula, a character that would
/// start another block is replaced with a letter. The result has the same length, and is only used to find positions.
pub(crate) fn with_neutral_line_starts(text: &str) -> Cow<'_, str> {
    if !text.contains("\\[") && !text.contains("$$") {
        return text.into();
    }
    let mut with_neutral_line_starts = String::with_capacity(text.len());
    let mut close = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t', '>']);
        let (before, mut content) = line.split_at(line.len() - content.len());
        with_neutral_line_starts.push_str(before);
        if let Some(end) = close {
            if content.starts_with(|first: char| first.is_ascii_digit() || "+-*=#_<".contains(first)) {
                with_neutral_line_starts.push('x');
                content = &content[1..];
            }
            if content.contains(end) || content.trim().is_empty() {
                close = None;
            }
        } else {
            let opened = [("\\[", "\\]"), ("$$", "$$")].into_iter().find(|(open, _)| content.starts_with(open));
            close = opened.filter(|(_, close)| !content[2..].contains(close)).map(|(_, close)| close);
        }
        with_neutral_line_starts.push_str(content);
    }
    with_neutral_line_starts.into()
}

/// Returns the source with each formula replaced with a word of the same length.
pub(crate) fn hidden(source: &str, formulas: &[Formula]) -> String {
    let mut hidden = String::with_capacity(source.len());
    let mut from = 0;
    for Formula { range, .. } in formulas {
        hidden.push_str(&source[from..range.start]);
        hidden.extend(std::iter::repeat_n('x', range.len()));
        from = range.end;
    }
    hidden + &source[from..]
}

impl Mark {
    /// Returns the length in bytes.
    fn len(self) -> usize {
        match self {
            Self::Dollar => 1,
            Self::Dollars | Self::Open { .. } | Self::Close { .. } => 2,
            Self::Break => 0,
        }
    }
}

/// Returns all marks with their positions, in order.
fn marks(source: &str) -> Vec<(usize, Mark)> {
    let mut marks = Vec::new();
    let mut verbatim = false;
    for (event, range) in Parser::new_ext(&with_neutral_line_starts(source), OPTIONS).into_offset_iter() {
        match event {
            Event::Text(_) if !verbatim => add_marks(source, range, &mut marks),
            Event::SoftBreak
            | Event::HardBreak
            | Event::InlineHtml(_)
            | Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Subscript)
            | Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Subscript) => {}
            _ => {
                match event {
                    Event::Start(
                        Tag::CodeBlock(_) | Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. },
                    ) => {
                        verbatim = true;
                    }
                    Event::End(TagEnd::CodeBlock | TagEnd::Link) => verbatim = false,
                    _ => {}
                }
                marks.push((range.start, Mark::Break));
            }
        }
    }
    marks
}

/// Adds the marks in a range of text.
fn add_marks(source: &str, text: Range<usize>, marks: &mut Vec<(usize, Mark)>) {
    let mut at = text.start;
    // An escaped character starts a new range, and its backslash belongs to no range.
    if source[..at].ends_with('\\') {
        let mark = match source.as_bytes().get(at) {
            Some(b'(') => Some(Mark::Open { display: false }),
            Some(b')') => Some(Mark::Close { display: false }),
            Some(b'[') => Some(Mark::Open { display: true }),
            Some(b']') => Some(Mark::Close { display: true }),
            _ => None,
        };
        marks.extend(mark.map(|mark| (at - 1, mark)));
        at += 1;
    }
    while let Some(found) = source.get(at..text.end).and_then(|rest| rest.find('$')) {
        at += found;
        let run = source[at..text.end].bytes().take_while(|byte| *byte == b'$').count();
        match run {
            1 => marks.push((at, Mark::Dollar)),
            2 => marks.push((at, Mark::Dollars)),
            _ => {}
        }
        at += run;
    }
}

/// Returns, for each mark, the mark that would end a formula that starts with it.
fn partners(marks: &[(usize, Mark)]) -> Vec<Option<usize>> {
    let mut partners = vec![None; marks.len()];
    let (mut dollar, mut dollars, mut close) = (None, None, [None; 2]);
    for (index, &(_, mark)) in marks.iter().enumerate().rev() {
        match mark {
            Mark::Break => (dollar, dollars, close) = (None, None, [None; 2]),
            Mark::Open { display } => partners[index] = close[usize::from(display)],
            Mark::Close { display } => close[usize::from(display)] = Some(index),
            Mark::Dollar => {
                partners[index] = dollar;
                dollar = Some(index);
            }
            Mark::Dollars => {
                partners[index] = dollars;
                (dollar, dollars) = (None, Some(index));
            }
        }
    }
    partners
}

/// Returns the formula in `range`; `None` if the text is not a formula.
fn formula(source: &str, range: Range<usize>, mark: Mark) -> Option<Formula> {
    let (open, rest) = source.get(range.clone())?.split_at_checked(mark.len())?;
    let (inside, close) = rest.split_at_checked(rest.len().checked_sub(mark.len())?)?;
    if inside.trim().is_empty() || (mark == Mark::Dollar && is_money(source, &range, inside)) {
        return None;
    }
    // In a quote, each further line starts with the marker of the quote.
    let lines = inside.split(['\n', '\r']).map(|line| line.trim_start_matches([' ', '\t', '>']).trim_end());
    let tex = lines.collect::<Vec<_>>().join("\n").trim().replace('\0', "\u{fffd}");
    let display = matches!(mark, Mark::Dollars | Mark::Open { display: true });
    Some(Formula { range, text: format!("{open}{tex}{close}"), tex, display })
}

/// Endings that may directly follow a formula, as in "the $n$th term".
const ENDINGS: [&str; 5] = ["th", "st", "nd", "rd", "s"];

/// Returns `true` if these two dollar signs are more likely prices, or variables of a shell or a template.
fn is_money(source: &str, range: &Range<usize>, inside: &str) -> bool {
    let sticks = |beside: Option<char>| beside.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let after = &source[range.end..];
    let word = after.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    // An ending counts only after a single character or an expression, not after a longer variable name, a path, or a
    // list.
    let has_ending = ENDINGS.contains(&word) && (inside.chars().count() == 1 || inside.contains(['\\', '^', '+', '-']));
    if inside.starts_with(char::is_whitespace)
        || inside.ends_with(char::is_whitespace)
        || sticks(source[..range.start].chars().next_back())
        || (!word.is_empty() && !has_ending)
    {
        return true;
    }
    // `${A}:${B}`, `$(pwd)/$(date)`, `$A/$(B)`, `$.50-$.75`: the second dollar sign is followed by the same character
    // as the first, or preceded by a character that joins two values.
    let joins = |c: char| matches!(c, '/' | ':' | ',' | ';' | '-' | '.' | '"' | '\'');
    let begins_again = |c: char| after.starts_with(c) && (inside.starts_with(c) || inside.ends_with(joins));
    if ['{', '('].into_iter().any(begins_again) || (is_amount(inside) && is_amount(after)) {
        return true;
    }
    // Detects an amount that is followed by words.
    let mut words = inside.split(|letter: char| !letter.is_alphabetic());
    is_amount(inside) && !inside.contains(['\\', '^', '_', '=', '{']) && words.any(|word| word.chars().nth(1).is_some())
}

/// Returns `true` if a text starts like an amount of money: with a digit, or with a point and a digit.
fn is_amount(text: &str) -> bool {
    text.strip_prefix('.').unwrap_or(text).starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the formulas. Those on a line of their own are in brackets.
    fn read(source: &str) -> Vec<String> {
        let show = |formula: Formula| if formula.display { format!("[{}]", formula.tex) } else { formula.tex };
        find(source).into_iter().map(show).collect()
    }

    #[test]
    fn four_kinds_of_delimiters_are_recognized() {
        for (source, expected) in [
            ("Let $x$ be $y_1$.", vec!["x", "y_1"]),
            (r"Let \(x\) be \( y_1 * z * a \).", vec!["x", "y_1 * z * a"]),
            (r"\[ x \]", vec!["[x]"]),
            ("$$\nx\n$$", vec!["[x]"]),
            (r"\[\begin{aligned} a \\ b \end{aligned}\]", vec![r"[\begin{aligned} a \\ b \end{aligned}]"]),
            ("> \\[\n> a\n> + b\n> \\]", vec!["[a\n+ b]"]),
            ("\\[\nf(x) = a\n+ b\n= c\n- d\n\\]", vec!["[f(x) = a\n+ b\n= c\n- d]"]),
            ("So\n$$ a\n# b $$", vec!["[a\n# b]"]),
            ("- one $a$\n- two $b$", vec!["a", "b"]),
            ("| $a$ | \\(b\\) |\n|---|---|\n| $c$ | d |", vec!["a", "b", "c"]),
            ("# $a$", vec!["a"]),
            ("**$a$** and [$b$](https://c.d)", vec!["a", "b"]),
            ("変数$x$は\\(y\\)です。", vec!["x", "y"]),
            ("*a $b*c$ d", vec!["b*c"]),
            (r"$\{a\}$", vec![r"\{a\}"]),
            (r"$5\%$ of $2 x + 3 y$", vec![r"5\%", "2 x + 3 y"]),
            ("the $n$th and $(n+1)$st term, two $x$s", vec!["n", "(n+1)", "x"]),
            ("$f$(x) is $f(x)$", vec!["f", "f(x)"]),
            (r"${a \over b}$, $(a)$", vec![r"{a \over b}", "(a)"]),
        ] {
            assert_eq!(read(source), expected, "{source}");
        }
    }

    #[test]
    fn text_that_is_not_a_formula_stays_text() {
        for source in [
            "It costs $5 and $10.",
            "US$5–$10, or US$20",
            "from $5-$10",
            "$5, $10 and $15",
            "between $5k and 10$ a day",
            "$HOME/$USER and $PATH:$HOME:",
            "${A}:${B}",
            "echo ${HOME}/bin:${PATH}",
            "$(pwd)/$(date)",
            "$A/$(date)-${B}",
            "$.50-$.75",
            "$.50 to $.75, or $1.50-$.75",
            "(~$1.50) and (~$10)",
            "\"$1\"-\"$2\"",
            "$name's and $other's",
            "`$x$` and ``\\(x\\)``",
            "```\n$x$\n```",
            "    $x$",
            "\\$x\\$",
            r"\\(x\\)",
            "$ x $",
            "$$ $$",
            "$$$x$$$",
            "```\n$$\n- x\n$$\n```",
            "a $x\n\ny$ b",
            "- $x\n- y$",
            "| $a | b$ |\n|---|---|",
            "$a `b` c$",
            "<https://a.b/$c$>",
            "[a](https://b.c/$d$)",
            "[a]: https://b.c/$d$",
            "\\(x",
            "x\\)",
            "&#36;x&#36;",
        ] {
            assert_eq!(read(source), Vec::<String>::new(), "{source}");
        }
    }
}
