//! Formulas in Markdown: `$…$` and `$$…$$`, and `\(…\)` and `\[…\]`, which models write as often.
//!
//! Markdown would take their letters for emphasis, escapes and links. So they are found first, in what is neither code nor
//! an address, and hidden from it behind words of the same length, which the drawing exchanges for the formulas again.
//! A line of a formula may begin like a list, so also the cutting into blocks asks here first ([`steadied`]).
//! What a formula looks like is the business of the typesetter (`tallybook-typeset`); until that is there it is its own source.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use crate::OPTIONS;

/// A formula in a block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Formula {
    /// Where it stands in the block's source, its marks included.
    pub(crate) range: Range<usize>,
    /// Its TeX, without the marks.
    pub(crate) tex: String,
    /// The same with them, for as long as it is text.
    pub(crate) text: String,
    /// Whether it has a line of its own.
    pub(crate) display: bool,
}

/// What may begin or end a formula, or parts what belongs to none.
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

/// The formulas of a block, in order.
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

/// The text for the parser to find its way in: in the lines of a formula, whatever would begin another block is a letter. It
/// is as long as the text, and to be read for places only.
pub(crate) fn steadied(text: &str) -> Cow<'_, str> {
    if !text.contains("\\[") && !text.contains("$$") {
        return text.into();
    }
    let mut steadied = String::with_capacity(text.len());
    let mut close = None;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t', '>']);
        let (before, mut content) = line.split_at(line.len() - content.len());
        steadied.push_str(before);
        if let Some(end) = close {
            if content.starts_with(|first: char| first.is_ascii_digit() || "+-*=#_<".contains(first)) {
                steadied.push('x');
                content = &content[1..];
            }
            if content.contains(end) || content.trim().is_empty() {
                close = None;
            }
        } else {
            let opened = [("\\[", "\\]"), ("$$", "$$")].into_iter().find(|(open, _)| content.starts_with(open));
            close = opened.filter(|(_, close)| !content[2..].contains(close)).map(|(_, close)| close);
        }
        steadied.push_str(content);
    }
    steadied.into()
}

/// The source with words in place of its formulas, each as long as what it stands for.
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
    /// Its length in bytes.
    fn len(self) -> usize {
        match self {
            Self::Dollar => 1,
            Self::Dollars | Self::Open { .. } | Self::Close { .. } => 2,
            Self::Break => 0,
        }
    }
}

/// All marks with their places, in order.
fn marks(source: &str) -> Vec<(usize, Mark)> {
    let mut marks = Vec::new();
    let mut verbatim = false;
    for (event, range) in Parser::new_ext(&steadied(source), OPTIONS).into_offset_iter() {
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

/// Adds the marks in a stretch of text.
fn add_marks(source: &str, text: Range<usize>, marks: &mut Vec<(usize, Mark)>) {
    let mut at = text.start;
    // What a backslash has escaped begins a stretch, and the backslash belongs to none.
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

/// For each mark the one that would end a formula that begins with it.
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

/// The formula that stands in `range`, unless that is something else.
fn formula(source: &str, range: Range<usize>, mark: Mark) -> Option<Formula> {
    let (open, rest) = source.get(range.clone())?.split_at_checked(mark.len())?;
    let (inside, close) = rest.split_at_checked(rest.len().checked_sub(mark.len())?)?;
    if inside.trim().is_empty() || (mark == Mark::Dollar && is_money(source, &range, inside)) {
        return None;
    }
    // Where a paragraph goes on in a quote, its lines begin with what makes them one.
    let lines = inside.split(['\n', '\r']).map(|line| line.trim_start_matches([' ', '\t', '>']).trim_end());
    let tex = lines.collect::<Vec<_>>().join("\n").trim().replace('\0', "\u{fffd}");
    let display = matches!(mark, Mark::Dollars | Mark::Open { display: true });
    Some(Formula { range, text: format!("{open}{tex}{close}"), tex, display })
}

/// Endings that are written right behind a formula, as in "the $n$th term".
const ENDINGS: [&str; 5] = ["th", "st", "nd", "rd", "s"];

/// Returns whether these two dollars are more likely to be prices, or variables of a shell or a template.
fn is_money(source: &str, range: &Range<usize>, inside: &str) -> bool {
    let sticks = |beside: Option<char>| beside.is_some_and(|letter| letter.is_ascii_alphanumeric());
    let after = &source[range.end..];
    let word = after.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
    // A variable's name has more letters, and a path or a list has no ending like this.
    let has_ending = ENDINGS.contains(&word) && (inside.chars().count() == 1 || inside.contains(['\\', '^', '+', '-']));
    if inside.starts_with(char::is_whitespace)
        || inside.ends_with(char::is_whitespace)
        || sticks(source[..range.start].chars().next_back())
        || (!word.is_empty() && !has_ending)
    {
        return true;
    }
    // `${A}:${B}`, `$(pwd)/$(date)`, `$A/$(B)`, `$.50-$.75`: the second dollar begins what the first did, or follows what
    // joins two values.
    let joins = |c: char| matches!(c, '/' | ':' | ',' | ';' | '-' | '.' | '"' | '\'');
    let begins_again = |c: char| after.starts_with(c) && (inside.starts_with(c) || inside.ends_with(joins));
    if ['{', '('].into_iter().any(begins_again) || (is_amount(inside) && is_amount(after)) {
        return true;
    }
    // An amount with words behind it.
    let mut words = inside.split(|letter: char| !letter.is_alphabetic());
    is_amount(inside) && !inside.contains(['\\', '^', '_', '=', '{']) && words.any(|word| word.chars().nth(1).is_some())
}

/// Returns whether a text begins as an amount of money does: with a digit, or with a point and a digit.
fn is_amount(text: &str) -> bool {
    text.strip_prefix('.').unwrap_or(text).starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formulas, those with a line of their own in brackets.
    fn read(source: &str) -> Vec<String> {
        let show = |formula: Formula| if formula.display { format!("[{}]", formula.tex) } else { formula.tex };
        find(source).into_iter().map(show).collect()
    }

    #[test]
    fn formulas_are_marked_in_four_ways() {
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
    fn what_is_no_formula_stays_text() {
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
