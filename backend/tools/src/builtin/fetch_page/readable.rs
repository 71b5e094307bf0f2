//! Extracts the readable text of an HTML page as simple Markdown: headings, paragraphs, lists, tables, links, code. It
//! makes one pass over the tokens and builds no tree, so deeply nested markup does no harm.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;
use tallybook_protocol::first_chars;

/// Elements that are left out, with all their contents.
const SKIPPED_ELEMENTS: [&str; 15] = [
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "audio", "video", "select",
    "textarea", "button", "dialog",
];
/// Elements that contain no main content.
const AROUND: [&str; 4] = ["nav", "header", "footer", "aside"];
/// Elements that contain the main content.
const CONTENT: [&str; 2] = ["main", "article"];
/// Minimum length of the text in `main` and `article`, in characters. If the text is shorter, these elements are
/// ignored.
const MIN_CONTENT_CHARS: usize = 200;
/// Maximum length of a title, in characters. Longer ones are truncated.
const MAX_TITLE_CHARS: usize = 300;
/// Maximum length of a link's URL, in bytes. A link with a longer URL is reduced to its text.
const MAX_LINK_CHARS: usize = 500;

/// A page's title and text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Readable {
    pub(crate) title: String,
    pub(crate) text: String,
}

/// Extracts title and text of the page at `address`.
pub(crate) fn read(html: &str, address: &Url) -> Readable {
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

/// State of the pass over the tokens.
struct Reader<'a> {
    address: &'a Url,
    title: String,
    is_in_title: bool,
    /// Name of the current element that is left out, and the number of open elements with this name.
    skipped: Option<(String, u32)>,
    /// Numbers of open elements of [`AROUND`], of [`CONTENT`], and of open `pre` elements.
    around: u32,
    content: u32,
    preformatted: u32,
    /// URL of the open link.
    link: Option<String>,
    /// The text of the whole page, the text without [`AROUND`], and the text of [`CONTENT`] only.
    texts: [Text; 3],
}

impl<'a> Reader<'a> {
    fn new(address: &'a Url) -> Self {
        Self {
            address,
            title: String::new(),
            is_in_title: false,
            skipped: None,
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
        if let Some((element, depth)) = &mut self.skipped {
            *depth += u32::from(element == name);
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
            name if SKIPPED_ELEMENTS.contains(&name) => self.skipped = Some((name.to_owned(), 1)),
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
        if let Some((element, depth)) = &mut self.skipped {
            *depth -= u32::from(element == name);
            if *depth == 0 {
                self.skipped = None;
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
        if self.skipped.is_some() {
            return;
        }
        if self.is_in_title {
            let title = words.split_whitespace().collect::<Vec<_>>().join(" ");
            first_chars(&title, MAX_TITLE_CHARS).clone_into(&mut self.title);
        } else if self.preformatted > 0 {
            self.write(|text| text.code(words));
        } else {
            self.write(|text| text.words(words));
        }
    }

    /// Returns the URL of a link. Returns `None` if it is too long, leads to a place in the same page, or isn't HTTP or
    /// HTTPS.
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

/// Returns `true` if an element starts a new paragraph.
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

/// A growing text whose white space is collapsed as in a rendered page.
#[derive(Default)]
struct Text {
    text: String,
    /// `true` if a space must precede the next word.
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

    /// Ends a link after its text. Removes a link without text.
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
