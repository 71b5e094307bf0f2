//! Extracts the text of Word, PowerPoint and OpenDocument files. Each format has a reader that goes through its XML
//! once and writes what it passes.

use std::collections::HashMap;

use crate::{
    Refusal,
    limits::{MAX_PAGES, MAX_TEXT_BYTES},
    pages::{Pages, Prose},
    sheets::Table,
    xml::{self, Attributes, Node},
    zip::Package,
};

/// Maximum number of spaces that one element of an OpenDocument file stands for.
const MAX_SPACES: usize = 1000;

/// Format of a document in a ZIP container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Docx,
    Pptx,
    Odt,
    Ods,
    Odp,
}

impl Format {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Pptx => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Self::Odt => "application/vnd.oasis.opendocument.text",
            Self::Ods => "application/vnd.oasis.opendocument.spreadsheet",
            Self::Odp => "application/vnd.oasis.opendocument.presentation",
        }
    }
}

/// Extracts the text: of a text document, pages of equal length; of a presentation, a page per slide; of a
/// spreadsheet, a page per sheet, or several for a long one.
pub(crate) fn read(file: &[u8], format: Format) -> Result<Pages, Refusal> {
    let mut package = Package::open(file)?;
    match format {
        Format::Docx => read_docx(&mut package),
        Format::Pptx => read_pptx(&mut package),
        Format::Odt => read_open_text(&mut package),
        Format::Odp => read_open_slides(&mut package),
        Format::Ods => read_open_sheets(&mut package),
    }
}

/// Reads the main text, then the notes to which it refers.
fn read_docx(package: &mut Package<'_>) -> Result<Pages, Refusal> {
    let mut prose = Prose::default();
    for part in ["word/document.xml", "word/footnotes.xml", "word/endnotes.xml"] {
        let Some(input) = package.part(part)? else { continue };
        let mut word = Word { prose: &mut prose, skipped: Skipped::default(), is_text: false };
        xml::read(input, |node| word.visit(&node))?;
        prose.paragraph();
    }
    Ok(Pages::split(&prose.take()))
}

/// Number of open elements whose contents are left out.
#[derive(Default)]
struct Skipped(usize);

impl Skipped {
    /// Counts the element if it is among `names`, or within one that is. Returns whether to leave out the node.
    fn skip(&mut self, node: &Node<'_>, names: &[&str]) -> bool {
        match node {
            Node::Open(name, _) if names.contains(name) => self.0 += 1,
            Node::Close(name) if names.contains(name) => {
                self.0 = self.0.saturating_sub(1);
                return true;
            }
            _ => {}
        }
        self.0 > 0
    }
}

/// Reader of a part of a Word file.
struct Word<'a> {
    prose: &'a mut Prose,
    skipped: Skipped,
    /// `true` within a text element. Other elements contain only white space and field codes.
    is_text: bool,
}

impl Word<'_> {
    fn visit(&mut self, node: &Node<'_>) -> bool {
        // Older duplicates of drawings, definitions of tabulators, and the former place of moved text.
        if self.skipped.skip(node, &["Fallback", "tabs", "moveFrom"]) {
            return true;
        }
        match node {
            Node::Open(name, attributes) => self.open(name, attributes),
            Node::Close(name) => self.close(name),
            Node::Text(text) if self.is_text => self.prose.write(text),
            Node::Text(_) => {}
        }
        !self.prose.is_full()
    }

    fn open(&mut self, name: &str, attributes: &Attributes<'_>) {
        match name {
            "p" => self.prose.paragraph(),
            "pStyle" => {
                let style = attributes.get("val").unwrap_or_default();
                // Localized versions of Word keep the style's English identifier.
                if let Some(level) = style.strip_prefix("Heading").and_then(|level| level.parse().ok()) {
                    self.prose.begin_heading(level);
                } else if style.starts_with("ListBullet") || style.starts_with("ListNumber") {
                    self.prose.begin_item();
                }
            }
            "numPr" => self.prose.begin_item(),
            "t" => self.is_text = true,
            "tab" => self.prose.write("\t"),
            "br" | "cr" => self.prose.line(),
            "noBreakHyphen" => self.prose.write("-"),
            "footnoteReference" | "endnoteReference" => self.note(attributes, ""),
            // Those with a type are lines that separate notes from the text.
            "footnote" | "endnote" if attributes.get("type").is_none() => self.note(attributes, ":"),
            "tr" => self.prose.begin_row(),
            "tc" => self.prose.begin_cell(),
            _ => {}
        }
    }

    fn note(&mut self, attributes: &Attributes<'_>, end: &str) {
        let Some(number) = attributes.number("id") else { return };
        if !end.is_empty() {
            self.prose.paragraph();
        }
        self.prose.write(&format!("[^{number}]{end}"));
    }

    fn close(&mut self, name: &str) {
        match name {
            "p" => {
                self.prose.end_marked();
                self.prose.paragraph();
            }
            "t" => self.is_text = false,
            "tr" => self.prose.end_row(),
            "tbl" => self.prose.paragraph(),
            _ => {}
        }
    }
}

/// Reads the slides in the order of the presentation, each with its notes.
fn read_pptx(package: &mut Package<'_>) -> Result<Pages, Refusal> {
    let mut ids = Vec::new();
    if let Some(input) = package.part("ppt/presentation.xml")? {
        xml::read(input, |node| {
            if let Node::Open("sldId", attributes) = &node
                && let Some(id) = attributes.get("r:id")
            {
                ids.push(id);
            }
            ids.len() <= MAX_PAGES
        })?;
    }
    let slides = relations(package, "ppt/_rels/presentation.xml.rels")?;
    let mut pages = Pages::default();
    for id in ids {
        let Some((_, target)) = slides.get(&id) else { continue };
        let name = target.rsplit('/').next().unwrap_or_default();
        let mut slide = Slide::default();
        if let Some(input) = package.part(&format!("ppt/slides/{name}"))? {
            xml::read(input, |node| slide.visit(&node))?;
        }
        let related = relations(package, &format!("ppt/slides/_rels/{name}.rels"))?;
        if let Some((_, notes)) = related.values().find(|(kind, _)| kind.ends_with("/notesSlide")) {
            let name = notes.rsplit('/').next().unwrap_or_default();
            if let Some(input) = package.part(&format!("ppt/notesSlides/{name}"))? {
                slide.begin_notes();
                xml::read(input, |node| slide.visit(&node))?;
            }
        }
        if !pages.push(&slide.prose.take()) {
            break;
        }
    }
    Ok(pages)
}

/// Returns the relations of a part: type and target by their identifier.
fn relations(package: &mut Package<'_>, part: &str) -> Result<HashMap<String, (String, String)>, Refusal> {
    let mut relations = HashMap::new();
    if let Some(input) = package.part(part)? {
        xml::read(input, |node| {
            if let Node::Open("Relationship", attributes) = &node
                && let (Some(id), Some(kind), Some(target)) =
                    (attributes.get("Id"), attributes.get("Type"), attributes.get("Target"))
            {
                relations.insert(id, (kind, target));
            }
            relations.len() <= 2 * MAX_PAGES
        })?;
    }
    Ok(relations)
}

/// Reader of a slide of PowerPoint, and of its notes.
#[derive(Default)]
struct Slide {
    prose: Prose,
    skipped: Skipped,
    is_text: bool,
    /// `true` within the slide's title.
    is_title: bool,
    /// `true` within a shape that repeats something on each page, such as the slide's number.
    is_repeated: bool,
}

impl Slide {
    fn begin_notes(&mut self) {
        self.prose.paragraph();
        self.prose.write("Notes:");
        self.prose.line();
    }

    fn visit(&mut self, node: &Node<'_>) -> bool {
        if self.skipped.skip(node, &["Fallback"]) {
            return true;
        }
        match node {
            Node::Open("sp" | "graphicFrame", _) => {
                self.is_title = false;
                self.is_repeated = false;
            }
            Node::Open("ph", attributes) => {
                let kind = attributes.get("type").unwrap_or_default();
                self.is_title = matches!(kind.as_str(), "title" | "ctrTitle");
                self.is_repeated = matches!(kind.as_str(), "sldNum" | "dt" | "ftr" | "hdr");
            }
            Node::Open("txBody", _) if self.is_title => self.prose.begin_heading(1),
            Node::Open("t", _) => self.is_text = !self.is_repeated,
            Node::Open("tab", _) if self.is_text => self.prose.write("\t"),
            Node::Open("br", _) | Node::Close("p") => self.prose.line(),
            Node::Open("tr", _) => self.prose.begin_row(),
            Node::Open("tc", _) => self.prose.begin_cell(),
            Node::Close("t") => self.is_text = false,
            Node::Close("tr") => self.prose.end_row(),
            Node::Close("txBody" | "tbl") => {
                self.prose.end_marked();
                self.prose.paragraph();
            }
            Node::Text(text) if self.is_text => self.prose.write(text),
            _ => {}
        }
        !self.prose.is_full()
    }
}

fn content<'a>(package: &'a mut Package<'_>) -> Result<impl std::io::BufRead + 'a, Refusal> {
    package.part("content.xml")?.ok_or_else(|| Refusal::unreadable("the file is damaged: it has no content"))
}

fn read_open_text(package: &mut Package<'_>) -> Result<Pages, Refusal> {
    let mut reader = OpenText::default();
    xml::read(content(package)?, |node| reader.visit(&node))?;
    Ok(Pages::split(&reader.prose.take()))
}

fn read_open_slides(package: &mut Package<'_>) -> Result<Pages, Refusal> {
    let mut reader = OpenText::default();
    let mut pages = Pages::default();
    xml::read(content(package)?, |node| {
        let more = reader.visit(&node);
        match node {
            Node::Close("page") => pages.push(&reader.prose.take()),
            _ => more,
        }
    })?;
    Ok(pages)
}

/// Reader of the text of an OpenDocument file.
#[derive(Default)]
struct OpenText {
    prose: Prose,
    skipped: Skipped,
    /// Number of open paragraphs. Text elsewhere is white space.
    paragraphs: usize,
}

impl OpenText {
    fn visit(&mut self, node: &Node<'_>) -> bool {
        // Deleted text, comments, and numbers of notes, whose text follows within brackets.
        if self.skipped.skip(node, &["tracked-changes", "annotation", "note-citation"]) {
            return true;
        }
        match node {
            Node::Open("p", _) => {
                self.paragraphs += 1;
                self.prose.paragraph();
            }
            Node::Open("h", attributes) => {
                self.paragraphs += 1;
                self.prose.begin_heading(attributes.number("outline-level").unwrap_or(1));
            }
            Node::Open("list-item", _) => self.prose.begin_item(),
            Node::Open("note-body", _) => self.prose.write(" ["),
            Node::Open("notes", _) => {
                self.prose.paragraph();
                self.prose.write("Notes:");
            }
            Node::Open("s", attributes) => {
                let spaces = attributes.number("c").unwrap_or(1).min(MAX_SPACES);
                self.prose.write(&" ".repeat(spaces));
            }
            Node::Open("tab", _) => self.prose.write("\t"),
            Node::Open("line-break", _) => self.prose.line(),
            Node::Open("table-row", _) => self.prose.begin_row(),
            Node::Open("table-cell" | "covered-table-cell", _) => self.prose.begin_cell(),
            Node::Close("p" | "h") => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                self.prose.end_marked();
                self.prose.paragraph();
            }
            Node::Close("note-body") => self.prose.write("]"),
            Node::Close("table-row") => self.prose.end_row(),
            Node::Close("table") => self.prose.paragraph(),
            Node::Text(text) if self.paragraphs > 0 => self.prose.write_words(text),
            _ => {}
        }
        !self.prose.is_full()
    }
}

/// Reads the cells as they are shown. A row or cell can stand for many equal ones; only those with text are written.
fn read_open_sheets(package: &mut Package<'_>) -> Result<Pages, Refusal> {
    let mut pages = Pages::default();
    let mut sheet = OpenSheet::default();
    xml::read(content(package)?, |node| {
        if sheet.skipped.skip(&node, &["annotation", "shapes"]) {
            return true;
        }
        match node {
            Node::Open("table", attributes) => {
                let name = attributes.get("name").unwrap_or_default();
                sheet = OpenSheet { table: Some(Table::new(&name, pages.room())), ..OpenSheet::default() };
            }
            Node::Close("table") => {
                if let Some(table) = sheet.table.take() {
                    return pages.push(&table.text);
                }
            }
            node => return sheet.visit(&node),
        }
        true
    })?;
    // The limit can end the reading within a sheet.
    if let Some(table) = sheet.table {
        pages.push(&table.text);
    }
    Ok(pages)
}

/// Reader of a sheet of an OpenDocument file.
#[derive(Default)]
struct OpenSheet {
    table: Option<Table>,
    skipped: Skipped,
    row: u32,
    row_repeated: u32,
    column: u32,
    column_repeated: u32,
    /// Text of the open cell.
    cell: Prose,
    paragraphs: usize,
    /// Cells with text of the open row: column and text.
    cells: Vec<(u32, String)>,
    /// Size of the texts in `cells`, in bytes.
    cells_bytes: usize,
}

impl OpenSheet {
    fn visit(&mut self, node: &Node<'_>) -> bool {
        match node {
            Node::Open("table-row", attributes) => {
                self.row_repeated = repeated(attributes, "number-rows-repeated");
                self.column = 0;
            }
            Node::Open("table-cell" | "covered-table-cell", attributes) => {
                self.column_repeated = repeated(attributes, "number-columns-repeated");
            }
            Node::Open("p", _) => {
                self.paragraphs += 1;
                self.cell.space();
            }
            Node::Close("p") => self.paragraphs = self.paragraphs.saturating_sub(1),
            Node::Open("s" | "tab" | "line-break", _) => self.cell.space(),
            Node::Text(text) if self.paragraphs > 0 => self.cell.write_words(text),
            Node::Close("table-cell" | "covered-table-cell") => self.end_cell(),
            Node::Close("table-row") => return self.end_row(),
            _ => {}
        }
        true
    }

    fn end_cell(&mut self) {
        let text = self.cell.take();
        let next = self.column.saturating_add(self.column_repeated);
        if !text.is_empty() {
            for column in self.column..next {
                if self.cells_bytes > MAX_TEXT_BYTES {
                    break;
                }
                self.cells_bytes += text.len() + 1;
                self.cells.push((column, text.clone()));
            }
        }
        self.column = next;
    }

    /// Returns whether the text is within the limit.
    fn end_row(&mut self) -> bool {
        let cells = std::mem::take(&mut self.cells);
        self.cells_bytes = 0;
        let next = self.row.saturating_add(self.row_repeated);
        if let Some(table) = self.table.as_mut().filter(|_| !cells.is_empty()) {
            for row in self.row..next {
                for (column, text) in &cells {
                    if !table.cell(row, *column, text) {
                        return false;
                    }
                }
            }
        }
        self.row = next;
        true
    }
}

fn repeated(attributes: &Attributes<'_>, name: &str) -> u32 {
    attributes.number(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(1)
}
