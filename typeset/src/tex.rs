//! TeX, made ready for the library that reads it: bounded, without numbering, and in words that the library knows.
//!
//! The library recurses over what is nested, so that is bounded here: groups in groups, commands that are the argument of
//! the one before, and whatever follows a switch like `\displaystyle`. It also takes what follows `\displaystyle` for part of
//! it across the cells of a table; in braces it does not.

/// Longer formulas, in bytes, stay as they are written.
const MAX_TEX: usize = 8 * 1024;
/// Deeper ones too.
const MAX_DEPTH: usize = 40;

/// Commands that change everything up to the end of their group.
const SWITCHES: [&str; 5] = ["displaystyle", "textstyle", "scriptstyle", "scriptscriptstyle", "color"];

/// Commands with two arguments. Where the second is no group it may be such a command again, and so on.
const TWO_ARGUMENTS: [&str; 11] =
    ["frac", "dfrac", "tfrac", "cfrac", "binom", "dbinom", "tbinom", "overset", "underset", "stackrel", "sideset"];
/// Commands with more, of which nobody makes much use.
const MANY_ARGUMENTS: [&str; 2] = ["genfrac", "prescript"];
/// Commands with one argument, and before it perhaps another in brackets; all arrows that grow, like `xrightarrow`, are too.
const ONE_IN_BRACKETS: [&str; 2] = ["sqrt", "cramped"];

/// Commands of common packages, as the library may be told of them.
pub(crate) const MACROS: [(&str, &str); 6] = [
    ("boxed", r"\begin{array}{|c|}\hline{\displaystyle #1}\\ \hline\end{array}"),
    ("fbox", r"\begin{array}{|c|}\hline\text{#1}\\ \hline\end{array}"),
    ("substack", r"\begin{subarray}{c}#1\end{subarray}"),
    ("textcolor", r"{\color{#1}#2}"),
    ("abs", r"\left|#1\right|"),
    ("norm", r"\left\|#1\right\|"),
];

/// `tex` as the library is to read it; `None` when it is too much.
pub(crate) fn prepare(tex: &str) -> Option<String> {
    if tex.len() > MAX_TEX {
        return None;
    }
    let outermost = Group { depth: 0, switches: 0 };
    let mut writer = Writer { out: String::with_capacity(tex.len() + 64), groups: vec![outermost], run: 0, bare: 0 };
    let mut rest = tex.trim();
    while let Some(first) = rest.chars().next() {
        rest = if first == '\\' { writer.command(&rest[1..])? } else { writer.letter(first, rest)? };
    }
    while !writer.groups.is_empty() {
        writer.close_group();
    }
    Some(writer.out)
}

struct Writer {
    out: String,
    /// The open groups.
    groups: Vec<Group>,
    /// How many commands came without a letter between: each may be the argument of the one before.
    run: usize,
    /// How many commands with many arguments have one that is no group.
    bare: usize,
}

struct Group {
    /// How deep in others it is.
    depth: usize,
    /// How many braces were opened in it for switches.
    switches: usize,
}

impl Writer {
    /// Writes what is no command, and gives back what follows.
    fn letter<'a>(&mut self, letter: char, rest: &'a str) -> Option<&'a str> {
        match letter {
            // A comment, up to the end of its line.
            '%' => return Some(rest.find('\n').map_or("", |end| &rest[end..])),
            '{' => self.open_group()?,
            '}' => self.close_group(),
            '&' => self.close_switches(),
            _ => {}
        }
        if matches!(letter, '^' | '_') {
            self.run += 1;
            self.depth()?;
        } else if !letter.is_whitespace() {
            self.run = 0;
        }
        self.out.push(letter);
        Some(&rest[letter.len_utf8()..])
    }

    /// Writes the command that `rest` begins with, behind its backslash, and gives back what follows.
    fn command<'a>(&mut self, rest: &'a str) -> Option<&'a str> {
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let end = if letters > 0 { letters } else { rest.chars().next().map_or(0, char::len_utf8) };
        let (name, rest) = rest.split_at(end);
        self.run += usize::from(!matches!(name, "begin" | "left"));
        self.bare += usize::from(has_bare_argument(name, rest));
        self.depth()?;
        match name {
            "tag" => {
                if let Some((label, rest)) = argument(rest.trim_start_matches('*')) {
                    self.out.push_str(r"\qquad\text{(");
                    self.out.push_str(label);
                    self.out.push_str(")}");
                    return Some(rest);
                }
            }
            "begin" | "end" => {
                if name == "begin" {
                    self.open_group()?;
                } else {
                    self.close_group();
                }
                if let Some((environment, rest)) = argument(rest) {
                    self.out.extend(["\\", name, "{", known(environment), "}"]);
                    return Some(rest);
                }
            }
            "left" => self.open_group()?,
            "right" => self.close_group(),
            "\\" | "cr" | "middle" => self.close_switches(),
            _ => {}
        }
        if SWITCHES.contains(&name) {
            self.out.push('{');
            self.groups.last_mut()?.switches += 1;
        }
        self.out.push('\\');
        self.out.push_str(name);
        Some(rest)
    }

    /// How deep the library may have to go for what comes next; `None` when that is too deep.
    fn depth(&self) -> Option<usize> {
        let group = self.groups.last()?;
        let depth = group.depth + group.switches + self.run + self.bare;
        (depth <= MAX_DEPTH).then_some(depth)
    }

    fn open_group(&mut self) -> Option<()> {
        let depth = self.depth()? + 1;
        self.groups.push(Group { depth, switches: 0 });
        self.run = 0;
        Some(())
    }

    fn close_group(&mut self) {
        self.close_switches();
        self.groups.pop();
    }

    fn close_switches(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            self.out.extend(std::iter::repeat_n('}', std::mem::take(&mut group.switches)));
        }
    }
}

/// Whether the last of several arguments of the command is no group.
fn has_bare_argument(name: &str, rest: &str) -> bool {
    let rest = rest.trim_start();
    let last = if TWO_ARGUMENTS.contains(&name) {
        after_group(rest, '{', '}')
    } else if (ONE_IN_BRACKETS.contains(&name) || name.starts_with('x')) && rest.starts_with('[') {
        after_group(rest, '[', ']')
    } else {
        return MANY_ARGUMENTS.contains(&name);
    };
    !last.is_some_and(|last| last.trim_start().starts_with('{'))
}

/// What follows the group that `rest` begins with, if it does.
fn after_group(rest: &str, open: char, close: char) -> Option<&str> {
    let inside = rest.strip_prefix(open)?;
    let (mut depth, mut escaped) = (1_usize, false);
    let end = inside.find(|letter| {
        if !std::mem::take(&mut escaped) {
            escaped = letter == '\\';
            depth += usize::from(letter == open);
            depth -= usize::from(letter == close);
        }
        depth == 0
    })?;
    inside.get(end + close.len_utf8()..)
}

/// What stands in the braces that `rest` begins with, and what follows them. Braces within are of no use here.
fn argument(rest: &str) -> Option<(&str, &str)> {
    let (inside, rest) = rest.trim_start().strip_prefix('{')?.split_once('}')?;
    (!inside.contains(['{', '\\', '$'])).then_some((inside.trim(), rest))
}

/// The environment that draws the same. Numbers beside formulas would begin anew with each.
fn known(environment: &str) -> &str {
    match environment {
        "equation" => "equation*",
        "align" | "eqnarray" | "eqnarray*" | "flalign" | "flalign*" => "align*",
        "gather" => "gather*",
        "multline" => "multline*",
        "alignat" => "alignat*",
        "split" => "aligned",
        "smallmatrix" => "matrix",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_end_with_their_cell() {
        for (tex, expected) in [
            (r"a \displaystyle b", r"a {\displaystyle b}"),
            (
                r"\begin{cases}\displaystyle a & b \\ c\end{cases}",
                r"\begin{cases}{\displaystyle a }& b \\ c\end{cases}",
            ),
            (r"{\color{red} a} b", r"{{\color{red} a}} b"),
            (r"\left( \textstyle a \right)", r"\left( {\textstyle a }\right)"),
            (r"\begin{align} a \tag{1} \end{align}", r"\begin{align*} a \qquad\text{(1)} \end{align*}"),
            ("a % b {\n c", "a \n c"),
            (r"\{ a \% \\ \}", r"\{ a \% \\ \}"),
        ] {
            assert_eq!(prepare(tex).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_left_alone() {
        for tex in [
            "a".repeat(10_000),
            "{".repeat(100),
            r"\sqrt".repeat(100),
            r"\left(".repeat(100),
            r"\begin{matrix}".repeat(100),
            r"\displaystyle a ".repeat(100),
            r"\hat ^".repeat(100),
            r"\sqrt{".repeat(100),
            r"\frac1".repeat(100),
            r"\overset{a}".repeat(100),
            r"\frac{a\}{b}}".repeat(100),
            r"\sqrt[3]".repeat(100),
            r"\xrightarrow[a]".repeat(100),
            r"\prescript{}{}".repeat(100),
            r"\sqrt\sqrt\sqrt{a".repeat(20),
        ] {
            assert_eq!(prepare(&tex), None, "{tex:.30}");
        }
        for tex in
            [r"\frac{a}{b} + ".repeat(200), r"\sqrt{\frac{a}{b}}\alpha\beta ".repeat(100), r"\tfrac12 x + ".repeat(20)]
        {
            assert!(prepare(&tex).is_some(), "{tex:.30}");
        }
    }
}
