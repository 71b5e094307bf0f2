//! What is there to read in an HTML page, as light Markdown: headings, paragraphs, lists, tables, links, code. One pass
//! over the tokens and no tree, so nothing that a page nests can be too deep.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

/// What is never read, with all that it holds.
const HIDDEN: [&str; 15] = [
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "audio", "video", "select",
    "textarea", "button", "dialog",
];
/// What stands around a page's own content.
const AROUND: [&str; 4] = ["nav", "header", "footer", "aside"];
/// What the content stands in, where a page says so.
const CONTENT: [&str; 2] = ["main", "article"];
/// A `main` or `article` with less text than this is not what the page is about.
const MIN_CONTENT_CHARS: usize = 200;
/// The longest title.
const MAX_TITLE_CHARS: usize = 300;
/// The longest address that is written behind the words of a link.
const MAX_LINK_CHARS: usize = 500;

/// A page's title and text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readable {
    pub(super) title: String,
    pub(super) text: String,
}

/// Reads the page that lies at `address`.
pub(super) fn read(html: &str, address: &Url) -> Readable {
    let mut emitter = DefaultEmitter::<()>::default();
    emitter.naively_switch_states(true);
    let mut reader = Reader::new(address);
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => reader.open(&tag),
            Token::EndTag(tag) => reader.close(&String::from_utf8_lossy(&tag.name)),
            Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    reader.finish()
}

/// Where the pass over the tokens is, and what it has read.
struct Reader<'a> {
    address: &'a Url,
    title: String,
    is_in_title: bool,
    /// The hidden element that it is in, and how many of its name are open.
    hidden: Option<(String, u32)>,
    /// How many elements of [`AROUND`], of [`CONTENT`], and how many `pre` are open.
    around: u32,
    content: u32,
    preformatted: u32,
    /// Where the open link leads.
    link: Option<String>,
    /// Everything, everything but what stands around, and the content alone.
    texts: [Text; 3],
}

impl<'a> Reader<'a> {
    fn new(address: &'a Url) -> Self {
        Self {
            address,
            title: String::new(),
            is_in_title: false,
            hidden: None,
            around: 0,
            content: 0,
            preformatted: 0,
            link: None,
            texts: Default::default(),
        }
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        let name = name.as_ref();
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth += u32::from(hidden == name);
            return;
        }
        match name {
            "title" => self.is_in_title = self.title.is_empty(),
            "pre" => {
                self.write(|text| text.block("```\n"));
                self.preformatted += 1;
            }
            "a" => {
                let href =
                    tag.attributes.get(b"href".as_slice()).map(|href| String::from_utf8_lossy(href).into_owned());
                self.link = href.and_then(|href| self.target(&href));
                if self.link.is_some() {
                    self.write(|text| text.words("["));
                }
            }
            "br" => self.write(Text::line),
            "li" => self.write(|text| text.item("- ")),
            "tr" => self.write(|text| text.item("")),
            "td" | "th" => self.write(Text::cell),
            "h1" => self.write(|text| text.block("# ")),
            "h2" => self.write(|text| text.block("## ")),
            "h3" | "h4" | "h5" | "h6" => self.write(|text| text.block("### ")),
            name if HIDDEN.contains(&name) => self.hidden = Some((name.to_owned(), 1)),
            name => {
                self.around += u32::from(AROUND.contains(&name));
                self.content += u32::from(CONTENT.contains(&name));
                if is_block(name) {
                    self.write(|text| text.block(""));
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth -= u32::from(hidden == name);
            if *depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match name {
            "title" => self.is_in_title = false,
            "pre" if self.preformatted > 0 => {
                self.preformatted -= 1;
                self.write(Text::end_of_code);
            }
            "a" => {
                if let Some(target) = self.link.take() {
                    self.write(|text| text.end_of_link(&target));
                }
            }
            name => {
                if is_block(name) {
                    self.write(|text| text.block(""));
                }
                self.around = self.around.saturating_sub(u32::from(AROUND.contains(&name)));
                self.content = self.content.saturating_sub(u32::from(CONTENT.contains(&name)));
            }
        }
    }

    fn text(&mut self, words: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.is_in_title {
            self.title = words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_TITLE_CHARS).collect();
        } else if self.preformatted > 0 {
            self.write(|text| text.code(words));
        } else {
            self.write(|text| text.words(words));
        }
    }

    /// Where a link leads, if that is another page of the web.
    fn target(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || href.len() > MAX_LINK_CHARS {
            return None;
        }
        let target = self.address.join(href).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        Some(target.to_string()).filter(|target| target.len() <= MAX_LINK_CHARS)
    }

    fn write(&mut self, write: impl Fn(&mut Text)) {
        let [whole, own, content] = &mut self.texts;
        write(whole);
        if self.around == 0 || self.content > 0 {
            write(own);
        }
        if self.content > 0 {
            write(content);
        }
    }

    fn finish(self) -> Readable {
        let [whole, own, content] = self.texts.map(Text::finish);
        let has = |text: &str, chars: usize| text.chars().nth(chars).is_some();
        let text = if has(&content, MIN_CONTENT_CHARS) {
            content
        } else if has(&own, 0) {
            own
        } else {
            whole
        };
        Readable { title: self.title, text }
    }
}

/// Whether an element begins a paragraph of its own.
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "main"
            | "nav"
            | "header"
            | "footer"
            | "aside"
            | "ul"
            | "ol"
            | "dl"
            | "dt"
            | "dd"
            | "table"
            | "blockquote"
            | "figure"
            | "figcaption"
            | "form"
            | "fieldset"
            | "details"
            | "summary"
            | "hr"
            | "address"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "body"
    )
}

/// Text that grows, with its white space as it is read and not as it was written.
#[derive(Default)]
struct Text {
    text: String,
    /// Whether a space is due before the next word.
    space: bool,
}

impl Text {
    fn words(&mut self, words: &str) {
        for (at, word) in words.split_whitespace().enumerate() {
            let spaced = at > 0 || self.space || words.starts_with(char::is_whitespace);
            if spaced && !self.text.is_empty() && !self.text.ends_with(['\n', ' ', '[']) {
                self.text.push(' ');
            }
            self.space = false;
            self.text.push_str(word);
        }
        self.space |= words.ends_with(char::is_whitespace);
    }

    fn code(&mut self, code: &str) {
        self.text.push_str(code);
        self.space = false;
    }

    fn end_of_code(&mut self) {
        if !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str("```\n\n");
    }

    /// Behind the words of a link; a link without words vanishes.
    fn end_of_link(&mut self, target: &str) {
        if self.text.ends_with('[') {
            self.text.pop();
            return;
        }
        self.text.push_str("](");
        self.text.push_str(target);
        self.text.push(')');
    }

    fn line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
        self.space = false;
    }

    fn item(&mut self, mark: &str) {
        if !self.text.ends_with('\n') {
            self.line();
        }
        self.text.push_str(mark);
    }

    fn cell(&mut self) {
        self.text.push_str(if self.text.ends_with('\n') { "| " } else { " | " });
        self.space = false;
    }

    fn block(&mut self, mark: &str) {
        while !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.line();
        }
        self.text.push_str(mark);
    }

    fn finish(self) -> String {
        self.text.trim().to_owned()
    }
}
