//! Draws one block of Markdown as view nodes: the parser's flat events, put together on an explicit stack.

use leptos::{
    html::{self, ElementChild as _},
    prelude::*,
};
use pulldown_cmark::{Alignment, BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Parser, Tag};

use super::{Block, OPTIONS, blocks::Definitions, links};
use crate::language::Language;

/// Deeper nesting is shown without its own shape. What draws the nodes does recurse.
const MAX_DEPTH: usize = 32;
/// A block of more nodes than this is shown as the text that it is. A table of few bytes can have many cells.
const MAX_NODES: usize = 20_000;
/// Text is drawn in pieces of about so many bytes. While it grows only the last piece changes.
const PIECE_BYTES: usize = 1024;
/// How much text the links of one block may take from definitions elsewhere: each use repeats the whole address.
const MAX_DEFINED_BYTES: usize = 100_000;

/// The nodes of one block.
pub(crate) fn render(block: &Block, text: Language) -> AnyView {
    let mut allowance = MAX_DEFINED_BYTES;
    let resolve = |link: BrokenLink<'_>| defined(&block.definitions, &link, &mut allowance);
    let parser = Parser::new_with_broken_link_callback(&block.source, OPTIONS, Some(resolve));
    let mut builder = Builder::new(text);
    for event in parser {
        builder.take(event);
        if builder.nodes > MAX_NODES {
            return as_text(&block.source, text);
        }
    }
    let children = builder.finish();
    // Link definitions alone draw nothing; a reader should not wonder what became of the answer.
    if children.is_empty() && !block.source.trim().is_empty() {
        as_text(&block.source, text)
    } else {
        children.into_any()
    }
}

fn as_text(source: &str, language: Language) -> AnyView {
    let mut frame = Frame::new(Kind::Paragraph);
    for line in source.trim().split_inclusive('\n') {
        frame.push_text(line);
    }
    vec![frame.into_view(language)].into_any()
}

fn defined<'a>(
    definitions: &Definitions,
    link: &BrokenLink<'_>,
    allowance: &mut usize,
) -> Option<(CowStr<'a>, CowStr<'a>)> {
    let definition = definitions.find(&link.reference)?;
    *allowance = allowance.checked_sub(definition.address.len() + definition.title.len())?;
    Some((definition.address.clone().into(), definition.title.clone().into()))
}

/// What an open element is.
enum Kind {
    Root,
    Paragraph,
    Heading(HeadingLevel),
    Quote,
    /// With what stands beside the opening fence.
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
    Emphasis,
    Strong,
    Struck,
    Link {
        address: String,
        title: String,
    },
    /// A link that may not be followed, or an image inside a link: its words, and where it would have led.
    Words {
        address: String,
    },
}

/// An open element with what it holds so far.
struct Frame {
    kind: Kind,
    children: Vec<AnyView>,
    /// Text that is not yet a node, so that neighbours become one.
    text: String,
    /// Whether anything was put in.
    is_empty: bool,
}

impl Frame {
    fn new(kind: Kind) -> Self {
        Self { kind, children: Vec::new(), text: String::new(), is_empty: true }
    }

    /// Gives the number of nodes that this made.
    fn push_text(&mut self, text: &str) -> usize {
        let before = self.children.len();
        let mut rest = text;
        while !rest.is_empty() {
            let room = PIECE_BYTES.saturating_sub(self.text.len()).max(4);
            let (piece, later) = rest.split_at(rest.floor_char_boundary(room));
            self.text.push_str(piece);
            rest = later;
            if self.text.len() >= PIECE_BYTES || !rest.is_empty() {
                self.flush();
            }
        }
        self.is_empty &= text.is_empty();
        self.children.len() - before
    }

    fn push(&mut self, child: AnyView) {
        self.flush();
        self.is_empty = false;
        self.children.push(child);
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.children.push(std::mem::take(&mut self.text).into_any());
        }
    }

    fn into_view(mut self, language: Language) -> AnyView {
        self.flush();
        let children = self.children;
        match self.kind {
            Kind::Root => children.into_any(),
            Kind::Paragraph => html::p().child(children).into_any(),
            // The page has headings of its own above an answer's.
            Kind::Heading(HeadingLevel::H1) => html::h3().child(children).into_any(),
            Kind::Heading(HeadingLevel::H2) => html::h4().child(children).into_any(),
            Kind::Heading(HeadingLevel::H3) => html::h5().child(children).into_any(),
            Kind::Heading(_) => html::h6().child(children).into_any(),
            Kind::Quote => html::blockquote().child(children).into_any(),
            Kind::Code(label) => code_view(label, children, language),
            Kind::List(None) => html::ul().child(children).into_any(),
            Kind::List(Some(start)) => html::ol().start(start.to_string()).child(children).into_any(),
            Kind::Item => html::li().child(children).into_any(),
            Kind::Table => table_view(children, language),
            Kind::TableHead => html::thead().child(html::tr().child(children)).into_any(),
            Kind::TableRow => html::tr().child(children).into_any(),
            Kind::Cell { header: true, alignment } => {
                html::th().scope("col").attr("data-align", alignment_name(alignment)).child(children).into_any()
            }
            Kind::Cell { header: false, alignment } => {
                html::td().attr("data-align", alignment_name(alignment)).child(children).into_any()
            }
            Kind::Emphasis => html::em().child(children).into_any(),
            Kind::Strong => html::strong().child(children).into_any(),
            Kind::Struck => html::del().child(children).into_any(),
            Kind::Link { address, title } => html::a()
                .href(address)
                .title((!title.is_empty()).then_some(title))
                .target("_blank")
                .rel("noopener noreferrer nofollow")
                .child(children)
                .into_any(),
            Kind::Words { .. } => html::span().child(children).into_any(),
        }
    }
}

/// Puts events together.
struct Builder {
    stack: Vec<Frame>,
    /// How many elements are open that are nested too deeply to get a shape of their own.
    flattened: usize,
    /// How many of the open elements are links: one link must not stand inside another.
    links: usize,
    /// The columns of the table that is open, and the column that comes next.
    columns: Vec<Alignment>,
    column: usize,
    nodes: usize,
    /// Of the labels.
    language: Language,
}

impl Builder {
    fn new(language: Language) -> Self {
        let stack = vec![Frame::new(Kind::Root)];
        Self { stack, flattened: 0, links: 0, columns: Vec::new(), column: 0, nodes: 0, language }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            // What looks like HTML is text like all other.
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.push_text(&text),
            Event::Code(code) => self.push(html::code().child(code.to_string()).into_any()),
            Event::SoftBreak => self.push_text("\n"),
            Event::HardBreak => self.push(html::br().into_any()),
            Event::Rule => self.push(html::hr().into_any()),
            Event::TaskListMarker(done) => self.push(
                html::input()
                    .r#type("checkbox")
                    .disabled(true)
                    .checked(done)
                    .aria_label(if done { self.language.task_done() } else { self.language.task_open() })
                    .into_any(),
            ),
            // Not switched on; should one come all the same, its words are shown.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.push_text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        if self.stack.len() > MAX_DEPTH {
            self.flattened += 1;
            return;
        }
        let kind = self.kind_of(tag);
        self.links += usize::from(matches!(kind, Kind::Link { .. }));
        self.stack.push(Frame::new(kind));
    }

    fn kind_of(&mut self, tag: Tag<'_>) -> Kind {
        match tag {
            Tag::Heading { level, .. } => Kind::Heading(level),
            Tag::BlockQuote(_) => Kind::Quote,
            Tag::CodeBlock(CodeBlockKind::Fenced(label)) => Kind::Code(label.trim().to_owned()),
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
            Tag::Emphasis => Kind::Emphasis,
            Tag::Strong => Kind::Strong,
            Tag::Strikethrough => Kind::Struck,
            Tag::Link { link_type, dest_url, title, .. } => {
                let address = if link_type == LinkType::Email { format!("mailto:{dest_url}") } else { dest_url.into() };
                self.link(link_type, address, title.into())
            }
            // An image is not loaded: whoever hosts it would learn who reads this, and when.
            Tag::Image { link_type, dest_url, title, .. } => self.link(link_type, dest_url.into(), title.into()),
            // The others are not switched on.
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
        // The root stays: events are balanced.
        if self.stack.len() < 2 {
            return;
        }
        if let Some(mut frame) = self.stack.pop() {
            match &frame.kind {
                Kind::Link { address, .. } => {
                    self.links -= 1;
                    if frame.is_empty {
                        let address = address.clone();
                        frame.push_text(&address);
                    }
                }
                Kind::Words { address } if !address.is_empty() => {
                    let told = if frame.is_empty { address.clone() } else { format!(" ({address})") };
                    frame.push_text(&told);
                }
                _ => {}
            }
            self.push(frame.into_view(self.language));
        }
    }

    fn push(&mut self, child: AnyView) {
        self.nodes += 1;
        if let Some(frame) = self.stack.last_mut() {
            frame.push(child);
        }
    }

    fn push_text(&mut self, text: &str) {
        if let Some(frame) = self.stack.last_mut() {
            self.nodes += frame.push_text(text);
        }
    }

    fn finish(mut self) -> Vec<AnyView> {
        while self.stack.len() > 1 {
            self.end();
        }
        self.stack
            .pop()
            .map(|mut root| {
                root.flush();
                root.children
            })
            .unwrap_or_default()
    }
}

/// Code with its language and a button that copies it. The click is heard by `copy`, so that a thousand buttons cost
/// nothing.
fn code_view(label: String, code: Vec<AnyView>, text: Language) -> AnyView {
    html::div()
        .class("code")
        .child((
            html::div().class("code-bar").child((
                html::span().class("code-language").child((!label.is_empty()).then_some(label)),
                html::button().r#type("button").class("copy").attr("data-testid", "copy-code").child((
                    html::span().class("copy-label").child(text.copy()),
                    html::span().class("copy-done").child(text.copied()),
                )),
            )),
            // What scrolls must be reachable with the keyboard.
            html::pre().tabindex("0").child(html::code().child(code)),
        ))
        .into_any()
}

fn table_view(mut rows: Vec<AnyView>, text: Language) -> AnyView {
    let head = if rows.is_empty() { None } else { Some(rows.remove(0)) };
    html::div()
        .class("table")
        .tabindex("0")
        .role("region")
        .aria_label(text.table())
        // The parts that an HTML parser would add by itself are written out: both sides must have the same tree.
        .child(html::table().child((head, html::tbody().child(rows))))
        .into_any()
}

fn alignment_name(alignment: Alignment) -> Option<&'static str> {
    match alignment {
        Alignment::None | Alignment::Left => None,
        Alignment::Center => Some("center"),
        Alignment::Right => Some("right"),
    }
}
