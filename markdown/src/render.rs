//! Renders one block of Markdown: builds nodes from the parser's flat events, with an explicit stack.

use std::{borrow::Cow, ops::Range};

use pulldown_cmark::{Alignment, BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Parser, Tag, TagEnd};
use tallybook_nodes::{Node, element, push_bounded};

use crate::{
    Block, Labels, OPTIONS,
    blocks::{Definitions, Fence},
    elements::{aligned, check_box, code, formula_in_words, link, sided, table},
    emphasis::{self, Exchanged},
    footnotes::{self, Footnotes},
    headings::Headings,
    links,
    math::{self, Formula},
};

/// Maximum depth of elements, because drawing the nodes recurses. Deeper elements are shown as plain text.
const MAX_DEPTH: usize = 32;
/// Maximum number of nodes of a block. A larger block is shown as its source. A small table can have many cells.
const MAX_NODES: usize = 20_000;
/// Number of elements around code or a table, such as its toolbar and buttons.
const NODES_AROUND: usize = 12;
/// Maximum size of the addresses and titles that a block takes from link definitions, in bytes. Each use repeats the
/// whole address.
const MAX_DEFINED_BYTES: usize = 100_000;

/// Returns the nodes of a block. The side of a bullet or of a quote's line follows the direction of its own text
/// (`dir`). The style sheet does the same for the alignment of the text. IDs start with `name`.
pub(crate) fn render(block: &Block, name: &str, labels: &Labels) -> Vec<Node> {
    if let Some(fence) = &block.open_fence {
        return open_code(fence, &block.source, labels);
    }
    let formulas = math::find(&block.source);
    if !formulas.is_empty() {
        let nodes = read(&math::hidden(&block.source, &formulas), &formulas, block, name, labels);
        if let Some(nodes) = nodes {
            return nodes;
        }
    }
    read(&block.source, &[], block, name, labels).unwrap_or_default()
}

/// Returns the nodes of a block, parsed from `source`, in which the formulas are hidden. `None` if a formula is not
/// part of the text, because hiding it has changed the block's structure.
fn read(source: &str, formulas: &[Formula], block: &Block, name: &str, labels: &Labels) -> Option<Vec<Node>> {
    let mut allowance = MAX_DEFINED_BYTES;
    let head = footnotes::head(source, &block.definitions.notes);
    let (source, head) =
        if head.is_empty() { (Cow::Borrowed(source), 0) } else { (Cow::Owned(format!("{head}{source}")), head.len()) };
    let exchanged = emphasis::exchanged(&source);
    let resolve =
        |link: BrokenLink<'_>| defined(&block.definitions, &exchanged.restore(&link.reference), &mut allowance);
    let parser = Parser::new_with_broken_link_callback(&exchanged.source, OPTIONS, Some(resolve));
    let footnotes = Footnotes { notes: &block.definitions.notes, name, start: block.start() };
    let mut builder = Builder::new(labels, formulas, footnotes, &exchanged, block.headings);
    for (event, range) in parser.into_offset_iter() {
        // Skips the events of the footnote definitions in front.
        let Some(begin) = range.start.checked_sub(head) else { continue };
        builder.take(event, begin..range.end - head)?;
        if builder.nodes > MAX_NODES {
            return Some(as_text(&block.source, labels));
        }
    }
    let nodes = builder.finish()?;
    // Link definitions alone have no nodes. Shows their source, so that the answer does not seem to be empty.
    let is_lost = nodes.is_empty() && !block.source.trim().is_empty();
    Some(if is_lost { as_text(&block.source, labels) } else { nodes })
}

/// Returns the nodes of code that is still being written, without parsing all of it for each update.
fn open_code(fence: &Fence, source: &str, labels: &Labels) -> Vec<Node> {
    let (head, code) = source.split_at(fence.code);
    let label = Parser::new_ext(head, OPTIONS).find_map(|event| match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(label))) => Some(label.trim().to_owned()),
        _ => None,
    });
    let mut frame = Frame::new(Kind::Code(label.unwrap_or_default()));
    frame.push_text(code);
    vec![frame.into_node(Footnotes::default(), labels)]
}

fn as_text(source: &str, labels: &Labels) -> Vec<Node> {
    let mut frame = Frame::new(Kind::Paragraph);
    frame.push_text(source.trim());
    vec![frame.into_node(Footnotes::default(), labels)]
}

fn defined<'a>(definitions: &Definitions, label: &str, allowance: &mut usize) -> Option<(CowStr<'a>, CowStr<'a>)> {
    let definition = definitions.find(label)?;
    *allowance = allowance.checked_sub(definition.address.len() + definition.title.len())?;
    Some((definition.address.clone().into(), definition.title.clone().into()))
}

/// Returns `true` if a tag is `<br>`, in any notation.
fn is_line_break(tag: &str) -> bool {
    let inside = tag.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inside.is_some_and(|name| name.trim_end_matches('/').trim_end().eq_ignore_ascii_case("br"))
}

/// The kind of an open element.
enum Kind {
    Root,
    Paragraph,
    /// A heading with this tag.
    Heading(&'static str),
    Quote,
    /// A code block with this info string.
    Code(String),
    List(Option<u64>),
    Item,
    Table,
    TableHead,
    TableRow,
    Cell {
        header: bool,
        alignment: Alignment,
    },
    /// A footnote, with its offset in the block.
    Footnote {
        label: String,
        begin: usize,
    },
    Emphasis,
    Strong,
    Struck,
    Link {
        address: String,
        title: String,
    },
    /// A link that is not allowed, or an image inside a link. Shown as its text and its address.
    Words {
        address: String,
    },
}

/// An open element with its children so far.
struct Frame {
    kind: Kind,
    children: Vec<Node>,
}

impl Frame {
    fn new(kind: Kind) -> Self {
        Self { kind, children: Vec::new() }
    }

    /// Adds text as an HTML parser would read it: with only line feeds, and with U+FFFD instead of NUL characters.
    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !matches!(self.children.last(), Some(Node::Text(_))) {
            self.children.push(Node::Text(String::new()));
        }
        let Some(Node::Text(held)) = self.children.last_mut() else { return };
        if text.contains(['\r', '\0']) {
            push_bounded(held, &text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}"));
        } else {
            push_bounded(held, text);
        }
    }

    fn into_node(self, footnotes: Footnotes<'_>, labels: &Labels) -> Node {
        let tag = match self.kind {
            Kind::Paragraph => "p",
            Kind::Heading(tag) => tag,
            Kind::Quote => return sided("blockquote").with_children(self.children).into(),
            Kind::Code(label) => return code(label, self.children, labels).into(),
            Kind::List(None) => return sided("ul").with_children(self.children).into(),
            Kind::List(Some(start)) => {
                return sided("ol").with("start", start.to_string()).with_children(self.children).into();
            }
            Kind::Item => "li",
            Kind::Table => return table(self.children, labels).into(),
            Kind::TableHead => {
                return element("thead").with_children(vec![element("tr").with_children(self.children).into()]).into();
            }
            Kind::TableRow => "tr",
            Kind::Cell { header: true, alignment } => {
                return aligned(element("th").with("scope", "col"), alignment).with_children(self.children).into();
            }
            Kind::Cell { header: false, alignment } => {
                return aligned(element("td"), alignment).with_children(self.children).into();
            }
            Kind::Footnote { label, begin } => return footnotes.note(&label, begin, self.children, labels).into(),
            Kind::Emphasis => "em",
            Kind::Strong => "strong",
            Kind::Struck => "del",
            Kind::Link { address, title } => return link(address, title).with_children(self.children).into(),
            Kind::Root | Kind::Words { .. } => "span",
        };
        element(tag).with_children(self.children).into()
    }
}

/// Builds nodes from events.
struct Builder<'a> {
    stack: Vec<Frame>,
    /// The formulas that have not been added yet.
    formulas: &'a [Formula],
    footnotes: Footnotes<'a>,
    /// Restores the characters that were replaced for the parser.
    exchanged: &'a Exchanged<'a>,
    /// Number of open elements beyond the maximum depth, which are shown as plain text.
    flattened: usize,
    /// Number of open elements that are links, because links must not be nested.
    links: usize,
    /// Alignments of the open table's columns, and the index of the next column.
    columns: Vec<Alignment>,
    column: usize,
    nodes: usize,
    /// The headings above the next block.
    headings: Headings,
    labels: &'a Labels,
}

impl<'a> Builder<'a> {
    fn new(
        labels: &'a Labels,
        formulas: &'a [Formula],
        footnotes: Footnotes<'a>,
        exchanged: &'a Exchanged<'a>,
        headings: Headings,
    ) -> Self {
        Self {
            stack: vec![Frame::new(Kind::Root)],
            formulas,
            footnotes,
            exchanged,
            flattened: 0,
            links: 0,
            columns: Vec::new(),
            column: 0,
            nodes: 0,
            headings,
            labels,
        }
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) -> Option<()> {
        match event {
            Event::Start(Tag::Subscript) | Event::End(TagEnd::Subscript) => self.push_text("~"),
            Event::Start(tag) => self.start(tag, range.start),
            Event::FootnoteReference(label) => {
                let label = self.exchanged.restore(&label);
                self.push(self.footnotes.reference(&label, range.start, self.labels));
            }
            Event::End(_) => self.end(),
            // Models write this tag for line breaks in table cells, for which Markdown has no syntax.
            Event::InlineHtml(tag) if is_line_break(&tag) => self.push(element("br")),
            // HTML is shown as text.
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                self.take_text(&self.exchanged.restore(&text), range)?;
            }
            Event::Code(code) => self.push(element("code").with_text(self.exchanged.restore(&code))),
            Event::SoftBreak => self.push_text("\n"),
            Event::HardBreak => self.push(element("br")),
            Event::Rule => self.push(element("hr")),
            Event::TaskListMarker(done) => self.push(check_box(done, self.labels)),
            // The parser's own formulas are not enabled. If it sends one anyway, its source is shown.
            Event::InlineMath(text) | Event::DisplayMath(text) => self.push_text(&text),
        }
        Some(())
    }

    /// Adds text, and the formulas that are hidden in it. Returns `None` if a formula cannot be located in the text.
    fn take_text(&mut self, text: &str, range: Range<usize>) -> Option<()> {
        let mut from = range.start;
        while let Some((formula, later)) = self.formulas.split_first()
            && formula.range.start < range.end
        {
            // If the parser has changed the text, for example an entity, positions do not match.
            if text.len() != range.len() || formula.range.start < from || formula.range.end > range.end {
                return None;
            }
            self.push_text(text.get(from - range.start..formula.range.start - range.start)?);
            self.push(formula_in_words(formula));
            from = formula.range.end;
            self.formulas = later;
        }
        self.push_text(text.get(from - range.start..)?);
        Some(())
    }

    fn start(&mut self, tag: Tag<'_>, begin: usize) {
        if self.stack.len() > MAX_DEPTH {
            self.flattened += 1;
            return;
        }
        let kind = self.kind_of(tag, begin);
        self.links += usize::from(matches!(kind, Kind::Link { .. }));
        self.stack.push(Frame::new(kind));
    }

    fn kind_of(&mut self, tag: Tag<'_>, begin: usize) -> Kind {
        match tag {
            Tag::Heading { level, .. } => Kind::Heading(self.headings.begin(level)),
            Tag::BlockQuote(_) => Kind::Quote,
            Tag::CodeBlock(CodeBlockKind::Fenced(label)) => Kind::Code(self.exchanged.restore(label.trim()).into()),
            Tag::CodeBlock(CodeBlockKind::Indented) => Kind::Code(String::new()),
            Tag::List(start) => Kind::List(start),
            Tag::Item => Kind::Item,
            Tag::Table(columns) => {
                self.columns = columns;
                Kind::Table
            }
            Tag::TableHead => {
                self.column = 0;
                Kind::TableHead
            }
            Tag::TableRow => {
                self.column = 0;
                Kind::TableRow
            }
            Tag::TableCell => {
                let header = self.stack.last().is_some_and(|frame| matches!(frame.kind, Kind::TableHead));
                let alignment = self.columns.get(self.column).copied().unwrap_or(Alignment::None);
                self.column += 1;
                Kind::Cell { header, alignment }
            }
            Tag::FootnoteDefinition(label) => Kind::Footnote { label: self.exchanged.restore(&label).into(), begin },
            Tag::Emphasis => Kind::Emphasis,
            Tag::Strong => Kind::Strong,
            Tag::Strikethrough => Kind::Struck,
            Tag::Link { link_type, dest_url, title, .. } => {
                let address = self.exchanged.restore(&dest_url);
                let address = if link_type == LinkType::Email { format!("mailto:{address}") } else { address.into() };
                self.link(link_type, address, self.exchanged.restore(&title).into())
            }
            // Images become links and are not loaded. Otherwise their servers would learn who reads the answer, and
            // when.
            Tag::Image { link_type, dest_url, title, .. } => {
                self.link(link_type, self.exchanged.restore(&dest_url).into(), self.exchanged.restore(&title).into())
            }
            // Other tags are not enabled.
            _ => Kind::Paragraph,
        }
    }

    fn link(&self, link_type: LinkType, address: String, title: String) -> Kind {
        let says_where = matches!(link_type, LinkType::Autolink | LinkType::Email);
        if self.links == 0 && links::may_be_followed(&address) {
            Kind::Link { address, title }
        } else if says_where {
            Kind::Words { address: String::new() }
        } else {
            Kind::Words { address }
        }
    }

    fn end(&mut self) {
        if self.flattened > 0 {
            self.flattened -= 1;
            self.push_text(" ");
            return;
        }
        // Never closes the root. Events are balanced, so this should not occur.
        if self.stack.len() < 2 {
            return;
        }
        if let Some(mut frame) = self.stack.pop() {
            if matches!(frame.kind, Kind::Code(_) | Kind::Table) {
                self.nodes += NODES_AROUND;
            }
            if self.links == 0 && !matches!(frame.kind, Kind::Code(_)) {
                self.nodes += links::link_addresses(&mut frame.children);
            }
            match &frame.kind {
                Kind::Link { address, .. } => {
                    self.links -= 1;
                    if frame.children.is_empty() {
                        let address = address.clone();
                        frame.push_text(&address);
                    }
                }
                Kind::Words { address } if !address.is_empty() => {
                    let suffix = if frame.children.is_empty() { address.clone() } else { format!(" ({address})") };
                    frame.push_text(&suffix);
                }
                _ => {}
            }
            self.push(frame.into_node(self.footnotes, self.labels));
        }
    }

    fn push(&mut self, child: impl Into<Node>) {
        self.nodes += 1;
        if let Some(frame) = self.stack.last_mut() {
            frame.children.push(child.into());
        }
    }

    fn push_text(&mut self, text: &str) {
        if let Some(frame) = self.stack.last_mut() {
            frame.push_text(text);
        }
    }

    fn finish(mut self) -> Option<Vec<Node>> {
        while self.stack.len() > 1 {
            self.end();
        }
        let mut children = self.stack.pop().filter(|_| self.formulas.is_empty())?.children;
        links::link_addresses(&mut children);
        Some(children)
    }
}
