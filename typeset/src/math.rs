//! Converts TeX to MathML, as a tree whose elements and attributes are all on allowlists.

use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};
use roxmltree::{Document, ParsingOptions};

use crate::tex;

/// Maximum number of elements of a formula. A larger one is shown as its source.
const MAX_NODES: u32 = 10_000;
/// Maximum depth of the tree, because `page` recurses over it. Deeper nodes are left out.
const MAX_DEPTH: usize = 200;
/// Maximum length of a space or a line in a formula, in em.
const MAX_LENGTH: f64 = 20.0;

/// Allowed MathML elements.
const ELEMENTS: [&str; 26] = [
    "math",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mspace",
    "msub",
    "msup",
    "msubsup",
    "mover",
    "munder",
    "munderover",
    "mmultiscripts",
    "mprescripts",
    "msqrt",
    "mroot",
    "mfrac",
    "mpadded",
    "mphantom",
    "mtable",
    "mtr",
    "mtd",
    "menclose",
    "semantics",
    "annotation",
];
/// HTML elements that are allowed in the text of a formula.
const WORDS: [&str; 6] = ["b", "i", "em", "code", "s", "u"];
/// Allowed attributes whose values are words.
const ATTRIBUTES: [&str; 14] = [
    "accent",
    "accentunder",
    "displaystyle",
    "form",
    "largeop",
    "mathvariant",
    "maxsize",
    "minsize",
    "movablelimits",
    "notation",
    "scriptlevel",
    "stretchy",
    "symmetric",
    "display",
];
/// Allowed attributes whose values are lengths.
const LENGTHS: [&str; 5] = ["height", "linethickness", "lspace", "rspace", "width"];
/// Inline styles with which the library lays out tables, and the classes that replace them. The page's content security
/// policy forbids inline styles.
const CLASSES: [(&str, &str); 10] = [
    ("text-align: left", "left"),
    ("text-align: right", "right"),
    ("padding-left: 0", "close-left"),
    ("padding-right: 0", "close-right"),
    ("border-left: 0.05em solid currentcolor", "line-left"),
    ("border-left: 0.05em dashed currentcolor", "line-left dashed"),
    ("border-right: 0.05em solid currentcolor", "line-right"),
    ("border-right: 0.05em dashed currentcolor", "line-right dashed"),
    ("border-top: 0.05em solid currentcolor", "line-top"),
    ("border-top: 0.05em dashed currentcolor", "line-top dashed"),
];

/// A node of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Text.
    Text(String),
    /// An element.
    Element(Element),
}

/// An element of a formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// The name, which is on an allowlist.
    pub tag: &'static str,
    /// The attributes, whose names are on an allowlist.
    pub attributes: Vec<(&'static str, String)>,
    /// The child nodes.
    pub children: Vec<Node>,
}

impl Element {
    /// Returns `true` if the element is HTML and not MathML.
    pub fn is_html(&self) -> bool {
        WORDS.contains(&self.tag)
    }

    fn new(tag: &'static str, children: Vec<Node>) -> Self {
        Self { tag, attributes: Vec::new(), children }
    }

    fn has_class(&self, class: &str) -> bool {
        self.attributes.iter().any(|(name, value)| *name == "class" && value.split(' ').any(|one| one == class))
    }
}

/// Converts formulas to MathML.
pub struct Mathematician(LatexToMathML);

impl Mathematician {
    /// Creates a converter that knows the commands of common packages. `None` if the library rejects the configuration.
    pub fn new() -> Option<Self> {
        let macros = tex::MACROS.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned())).collect();
        let config = MathCoreConfig { macros, allow_unreliable_rendering: true, ..MathCoreConfig::default() };
        LatexToMathML::new(config).ok().map(Self)
    }

    /// Returns the `<math>` element of a formula, annotated with its source. `None` if the formula is invalid or
    /// exceeds a limit.
    pub fn read(&self, source: &str, display: bool) -> Option<Element> {
        let prepared = tex::prepare(source)?;
        let mode = if display { MathDisplay::Block } else { MathDisplay::Inline };
        let written = self.0.convert_with_local_state(&prepared, mode).ok()?.mathml;
        let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(&written, options).ok()?;
        let mut shown = Vec::new();
        read_into(&mut shown, document.root_element(), 0);
        let Some(Node::Element(mut math)) = shown.pop() else { return None };
        if math.tag != "math" || math.children.is_empty() {
            return None;
        }
        let annotation = Element {
            attributes: vec![("encoding", "application/x-tex".to_owned())],
            ..Element::new("annotation", vec![Node::Text(source.to_owned())])
        };
        let content = Element::new("mrow", std::mem::take(&mut math.children));
        math.children =
            vec![Node::Element(Element::new("semantics", vec![Node::Element(content), Node::Element(annotation)]))];
        Some(math)
    }
}

/// Adds a node to `siblings`. An element that is not on the allowlist is replaced with its children.
fn read_into(siblings: &mut Vec<Node>, node: roxmltree::Node<'_, '_>, depth: usize) {
    if let Some(text) = node.text().filter(|_| node.is_text()) {
        siblings.push(Node::Text(text.to_owned()));
    }
    if !node.is_element() || depth > MAX_DEPTH {
        return;
    }
    let name = node.tag_name().name();
    let Some(tag) = ELEMENTS.iter().chain(&WORDS).copied().find(|tag| *tag == name) else {
        node.children().for_each(|child| read_into(siblings, child, depth + 1));
        return;
    };
    let mut element = Element::new(tag, Vec::new());
    node.children().for_each(|child| read_into(&mut element.children, child, depth + 1));
    element.attributes =
        node.attributes().filter_map(|attribute| allowed(attribute.name(), attribute.value())).collect();
    if tag == "mtable" {
        close_below(&mut element);
    }
    siblings.push(Node::Element(element));
}

fn allowed(name: &str, value: &str) -> Option<(&'static str, String)> {
    if name == "style" {
        let classes: Vec<_> =
            value.split(';').filter_map(|one| CLASSES.iter().find(|(style, _)| *style == one.trim())).collect();
        let classes: Vec<_> = classes.into_iter().map(|(_, class)| *class).collect();
        return (!classes.is_empty()).then(|| ("class", classes.join(" ")));
    }
    if let Some(name) = ATTRIBUTES.iter().find(|known| **known == name) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '%' | ' ');
        return value.chars().all(is_plain).then(|| (*name, value.to_owned()));
    }
    let name = LENGTHS.iter().find(|known| **known == name)?;
    is_moderate(value).then(|| (*name, value.to_owned()))
}

/// Returns `true` if a length is within the limit.
fn is_moderate(length: &str) -> bool {
    let (number, in_letters) = match length.strip_suffix("rem").or_else(|| length.strip_suffix("em")) {
        Some(number) => (number, 1.0),
        None => (length.strip_suffix("ex").unwrap_or(length), 0.5),
    };
    number.parse::<f64>().is_ok_and(|number| (0.0..=MAX_LENGTH).contains(&(number * in_letters)))
}

/// Replaces an empty last row that has a line above it with a line below the table. TeX ends a table with a line like
/// that.
fn close_below(table: &mut Element) {
    let is_line =
        |cell: &Node| matches!(cell, Node::Element(cell) if cell.children.is_empty() && cell.has_class("line-top"));
    let Some(Node::Element(last)) = table.children.last() else { return };
    if !last.children.is_empty() && last.children.iter().all(is_line) {
        table.children.pop();
        match table.attributes.iter_mut().find(|(name, _)| *name == "class") {
            Some((_, classes)) => classes.push_str(" line-below"),
            None => table.attributes.push(("class", "line-below".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a formula as markup, without the elements that surround every formula.
    fn read(tex: &str) -> Option<String> {
        let math = Mathematician::new().unwrap().read(tex, true)?;
        let Some(Node::Element(semantics)) = math.children.first() else { panic!("{math:?}") };
        let [Node::Element(content), Node::Element(source)] = &*semantics.children else { panic!("{semantics:?}") };
        assert_eq!(source.children, [Node::Text(tex.to_owned())]);
        Some(content.children.iter().map(markup).collect())
    }

    fn markup(node: &Node) -> String {
        match node {
            Node::Text(text) => text.clone(),
            Node::Element(element) => {
                let attributes: Vec<_> =
                    element.attributes.iter().map(|(name, value)| format!(" {name}={value:?}")).collect();
                let attributes = attributes.concat();
                let inside: String = element.children.iter().map(markup).collect();
                format!("<{0}{attributes}>{inside}</{0}>", element.tag)
            }
        }
    }

    #[test]
    fn formulas_become_mathml() {
        for (tex, expected) in [
            (r"\frac{a}{2}", "<mfrac><mi>a</mi><mn>2</mn></mfrac>"),
            ("x^2_i", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
            (r"\sqrt{x}", "<msqrt><mi>x</mi></msqrt>"),
            (r"\text{if <b>}", "<mtext>if\u{a0}<b></mtext>"),
            (r"\textbf{so}", "<mtext><b>so</b></mtext>"),
            (
                r"\begin{aligned}a&=b\\c&\end{aligned}",
                "<mtable displaystyle=\"true\" scriptlevel=\"0\">\
                 <mtr><mtd class=\"right close-right\"><mi>a</mi></mtd><mtd class=\"left close-left\"><mo>=</mo><mi>b</mi></mtd></mtr>\
                 <mtr><mtd class=\"right close-right\"><mi>c</mi></mtd><mtd class=\"left close-left\"></mtd></mtr></mtable>",
            ),
            (
                r"\boxed{4}",
                "<mtable class=\"line-left line-top line-below\" displaystyle=\"false\" scriptlevel=\"0\"><mtr>\
                 <mtd class=\"line-right\"><mrow displaystyle=\"true\" scriptlevel=\"0\"><mn>4</mn></mrow></mtd></mtr></mtable>",
            ),
            (
                r"\begin{cases}\displaystyle a & b\\c & d\end{cases}",
                "<mrow><mo>{</mo><mtable displaystyle=\"false\" scriptlevel=\"0\"><mtr><mtd class=\"left close-right\">\
                 <mrow displaystyle=\"true\" scriptlevel=\"0\"><mi>a</mi></mrow></mtd><mtd class=\"left close-right\"><mi>b</mi></mtd></mtr>\
                 <mtr><mtd class=\"left close-right\"><mi>c</mi></mtd><mtd class=\"left close-right\"><mi>d</mi></mtd></mtr></mtable>\
                 <mo>\u{2063}</mo></mrow>",
            ),
        ] {
            assert_eq!(read(tex).as_deref(), Some(expected), "{tex}");
        }
    }

    #[test]
    fn formulas_that_models_commonly_write_are_converted() {
        for tex in [
            r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
            r"\int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}",
            r"\sum_{\substack{i \le n \\ i \ne j}} \binom{n}{i}",
            r"\begin{align} a &= b \tag{1} \\ &= c \end{align}",
            r"E = mc^2 \tag{1.2}",
            r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}\begin{bmatrix} x \\ y \end{bmatrix}",
            r"\begin{array}{c|c} p & q \\ \hline T & F \end{array}",
            r"f(x) = \begin{cases} 1 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}",
            r"\mathbb{R}^n \to \mathcal{L}, \quad \operatorname*{argmax}_\theta \log p",
            r"\left.\frac{\partial f}{\partial x}\right|_{x=0} \approx \lim_{h \to 0}",
            r"\underbrace{a + b}_{n} \xrightarrow{f} \overline{z} \cdot \hat{x} \times \vec{v}",
            r"\textcolor{red}{x} \color{blue} y \cancel{z} \abs{x} \norm{y}",
            r"\boxed{x = 42} \implies \therefore \forall x \in \emptyset",
            r"P(A \mid B) = \Pr(A) \cdot 90^\circ \approx 5\% \ldots",
            r"\text{面積} = \pi r^2",
        ] {
            assert!(read(tex).is_some(), "{tex}");
        }
    }

    #[test]
    fn invalid_formulas_are_refused() {
        for tex in
            ["", " ", "{", "}", "x^", r"\unknown", r"\def\a{\a\a}\a", r"\frac", "&", r"\begin{x}", r"\text{", "\u{0}"]
        {
            assert_eq!(read(tex), None, "{tex}");
        }
    }

    #[test]
    fn formulas_contain_no_links_scripts_or_large_lengths() {
        for tex in [
            r"\href{javascript:alert(1)}{x}",
            r"\url{javascript:alert(1)}",
            r"\includegraphics{https://evil.invalid/x.png}",
            r#"\text{<a href="javascript:alert(1)">x</a><script>alert(1)</script>}"#,
            r"\htmlStyle{color:red}{x}\class{y}{z}\id{w}{v}",
            r"\begin{align}\label{x}a\end{align}\eqref{x}",
            r"\eqref{javascript:alert(1)}",
            r"\hspace{100000em}x\kern-100000em y\hspace{-5em}z\\[1000em]",
            r#"\operatorname{"><img src=x onerror=alert(1)>}"#,
            r"\color{red}x\textcolor{url(x)}{y}",
            r"\tag{<img src=x>}x",
        ] {
            let Some(markup) = read(tex) else { continue };
            let names = [" href=", " src=", " style=", " id=", " on", "0000em", "1000em", "margin"];
            let tags: String = markup.split('<').filter(|part| part.starts_with('m')).collect();
            assert!(names.iter().all(|name| !tags.split('>').step_by(2).any(|tag| tag.contains(name))), "{markup}");
        }
        for (length, expected) in [
            ("1em", true),
            ("0", true),
            ("0.5rem", true),
            ("1000em", false),
            ("-1em", false),
            ("1px", false),
            ("NaNem", false),
            ("", false),
        ] {
            assert_eq!(is_moderate(length), expected, "{length}");
        }
    }

    /// A browser's stack has about 1 MB, of which a release build uses a small part. This build is not optimized, so it
    /// needs many times as much.
    #[test]
    fn nesting_up_to_the_limit_needs_little_stack() {
        let worst = [
            format!("{}a{}", "{".repeat(39), "}".repeat(39)),
            format!("{} a", r"\sqrt".repeat(39)),
            format!("{}a{}", r"\frac{".repeat(19), "}{b}".repeat(19)),
            format!("{}a{}", r"\left(".repeat(39), r"\right)".repeat(39)),
            format!("{}a{}", r"\begin{matrix}".repeat(39), r"\end{matrix}".repeat(39)),
            format!("{}a{}", "x^{".repeat(19), "}".repeat(19)),
            format!("{}a", r"\displaystyle ".repeat(19)),
            format!("{}a{}", r"\boxed{".repeat(12), "}".repeat(12)),
            r"\overset a".repeat(38) + "a",
            format!("{}a{}", r"\overset a\sqrt{".repeat(6), "}".repeat(6)),
            "a'".repeat(1000),
            ")".repeat(4000),
            "a_b".repeat(1000),
        ];
        let read_all = move || worst.iter().for_each(|tex| assert!(read(tex).is_some(), "{tex:.40}"));
        let small = std::thread::Builder::new().stack_size(4 * 1024 * 1024).spawn(read_all).unwrap();
        small.join().unwrap();
    }

    proptest! {
        #[test]
        fn any_text_is_converted_or_refused(tex in prop_oneof![
            any::<String>(),
            prop::collection::vec(prop::sample::select(vec![
                "\\frac", "\\sqrt", "{", "}", "{", "}", "[", "]", "^", "_", "a", "1", " ", "\\left", "\\right", "(", ")", "|",
                "\\begin{cases}", "\\end{cases}", "\\begin{array}{c|c}", "\\end{array}", "\\begin{align}", "\\end{align}", "&",
                "\\\\", "\\hline", "\\text", "\\displaystyle", "\\color{red}", "\\over", "\\boxed", "\\tag{1}", "\\middle", "$",
                "%", "#", "\\", "'", "計", "\\limits", "\\sum", "\\substack", "\\hspace{1em}", "\\not", "~", "\u{301}",
            ]), 0..20).prop_map(|parts| parts.concat()),
        ]) {
            read(&tex);
        }
    }
}
