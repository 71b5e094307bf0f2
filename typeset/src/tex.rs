//! Prepares TeX for the library that parses it: checks the limits, removes the numbering of equations, and rewrites
//! commands and environments that the library does not know.
//!
//! The library recurses over nested parts, so their depth is bounded here. Nested parts are groups within groups,
//! commands that are the argument of the previous command, and everything after a switch such as `\displaystyle`. The
//! library also applies a switch across the following cells of a table. Braces around the switch and its text prevent
//! that.

/// Maximum size of a formula, in bytes. A longer one is shown as its source.
const MAX_TEX: usize = 8 * 1024;
/// Maximum depth of nesting. A deeper formula is shown as its source.
const MAX_DEPTH: usize = 40;

/// Commands that apply up to the end of their group.
const SWITCHES: [&str; 5] = ["displaystyle", "textstyle", "scriptstyle", "scriptscriptstyle", "color"];

/// Commands with two arguments. If the second argument is not a group, it may be such a command again, and so on.
const TWO_ARGUMENTS: [&str; 11] =
    ["frac", "dfrac", "tfrac", "cfrac", "binom", "dbinom", "tbinom", "overset", "underset", "stackrel", "sideset"];
/// Commands with more than two arguments, which are rare.
const MANY_ARGUMENTS: [&str; 2] = ["genfrac", "prescript"];
/// Commands with one argument, and an optional one in brackets before it. The extensible arrows, such as `xrightarrow`,
/// are commands of this kind, too.
const ONE_IN_BRACKETS: [&str; 2] = ["sqrt", "cramped"];

/// Macros for commands of common packages, which are passed to the library.
pub(crate) const MACROS: [(&str, &str); 6] = [
    ("boxed", r"\begin{array}{|c|}\hline{\displaystyle #1}\\ \hline\end{array}"),
    ("fbox", r"\begin{array}{|c|}\hline\text{#1}\\ \hline\end{array}"),
    ("substack", r"\begin{subarray}{c}#1\end{subarray}"),
    ("textcolor", r"{\color{#1}#2}"),
    ("abs", r"\left|#1\right|"),
    ("norm", r"\left\|#1\right\|"),
];

/// Returns the TeX for the library; `None` if it exceeds a limit.
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
    /// Number of consecutive commands without a letter between them. Each may be the argument of the previous one.
    run: usize,
    /// Number of commands with several arguments of which the last one is not a group.
    bare: usize,
}

struct Group {
    /// Depth of nesting in other groups.
    depth: usize,
    /// Number of braces that were opened in the group for switches.
    switches: usize,
}

impl Writer {
    /// Writes a character that does not start a command. Returns the rest after it.
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

    /// Writes the command at the start of `rest`, which starts after the backslash. Returns the rest after the command.
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

    /// Returns the depth to which the library may recurse for the next part; `None` if that exceeds the limit.
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

/// Returns `true` if the last of several arguments of the command is not a group.
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

/// Returns the rest after the group at the start of `rest`; `None` if `rest` does not start with a complete group.
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

/// Returns the text in the braces at the start of `rest`, and the rest after them. `None` if the text has commands or
/// further braces.
fn argument(rest: &str) -> Option<(&str, &str)> {
    let (inside, rest) = rest.trim_start().strip_prefix('{')?.split_once('}')?;
    (!inside.contains(['{', '\\', '$'])).then_some((inside.trim(), rest))
}

/// Returns an environment that looks the same and that the library supports. It has no equation numbers, because they
/// would restart with each formula.
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
    fn formulas_over_the_limits_are_refused() {
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
