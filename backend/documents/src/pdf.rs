//! Extracts the text of PDF files. `hayro` interprets each page and reports its glyphs with their position and
//! character; this joins them to words and lines.
//!
//! It forbids unsafe code, bounds the nesting of objects, and knows the predefined Japanese, Chinese and Korean
//! encodings, on which other libraries panic.

use std::collections::HashSet;

use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, TransformExt as _,
    font::{Glyph, GlyphRun},
    hayro_cmap::{BfString, WritingMode},
    hayro_syntax::{DecryptionError, LoadPdfError, Pdf},
    interpret_page,
    kurbo::{Affine, BezPath, Point, Rect, Vec2},
};
use unicode_normalization::UnicodeNormalization as _;

use crate::{Refusal, limits::MAX_TEXT_BYTES, pages::Pages};

/// Size of the end of a file in which its end mark must be, in bytes.
const TAIL_BYTES: usize = 4096;
/// Height of a glyph in glyph space.
const EM: f64 = 1000.0;
/// Smallest gap between glyphs that is a space, relative to the font size.
const WORD_GAP: f64 = 0.15;
/// Smallest gap between glyphs of Chinese and Japanese that is a space. Justified lines have gaps.
const WIDE_WORD_GAP: f64 = 0.7;
/// Smallest gap between columns.
const COLUMN_GAP: f64 = 2.0;
/// Largest distance of the base lines of glyphs in one line, for indices and accents.
const LINE_SHIFT: f64 = 0.7;
/// Smallest distance of lines between which a paragraph ends.
const PARAGRAPH_GAP: f64 = 1.9;

/// Extracts the text of each page. A page that only shows images has an empty text.
pub(crate) fn read(file: Vec<u8>) -> Result<Pages, Refusal> {
    // The library repairs files without an end, but then pages are missing without notice.
    let tail = &file[file.len().saturating_sub(TAIL_BYTES)..];
    if !tail.windows(9).any(|window| window == b"startxref") && !tail.windows(5).any(|window| window == b"%%EOF") {
        return Err(Refusal::unreadable("the PDF is cut off: its end is missing"));
    }
    let pdf = Pdf::new(file).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            Refusal::unreadable("the PDF is protected by a password")
        }
        LoadPdfError::Decryption(_) => Refusal::unreadable("the PDF is encrypted in a way that cannot be read"),
        LoadPdfError::Invalid => Refusal::unreadable("the PDF is damaged, or has no pages"),
    })?;
    if pdf.pages().is_empty() {
        return Err(Refusal::unreadable("the PDF has no pages"));
    }
    let cache = InterpreterCache::new();
    let mut pages = Pages::default();
    for page in pdf.pages().iter() {
        let settings = InterpreterSettings::default();
        let transform = page.initial_transform(true).to_kurbo();
        let (width, height) = page.render_dimensions();
        let bounds = Rect::new(0.0, 0.0, width.into(), height.into());
        let mut context = Context::new(transform, bounds, &cache, pdf.xref(), settings);
        let mut writer = Writer { max_bytes: pages.room().min(MAX_TEXT_BYTES), ..Writer::default() };
        interpret_page(page, &mut context, &mut writer);
        if !pages.push(&writer.finish()) {
            break;
        }
    }
    Ok(pages)
}

/// Writes the glyphs of one page in the order of the file, which is the order of reading in nearly all of them.
#[derive(Default)]
struct Writer {
    text: String,
    max_bytes: usize,
    last: Option<Placed>,
    /// Glyphs and places that are written. Bold text is often drawn twice.
    written: HashSet<(u32, u64, u64)>,
    /// Numbers of glyphs with and without a known character.
    known: usize,
    unknown: usize,
}

/// A glyph on the page.
#[derive(Clone, Copy)]
struct Placed {
    start: Point,
    end: Point,
    /// Height of the font on the page.
    size: f64,
    /// Direction of writing, of length 1.
    direction: Vec2,
    is_wide: bool,
}

impl Writer {
    fn glyph(&mut self, glyph: &Glyph<'_>, transform: Affine, mode: WritingMode) {
        if self.text.len() > self.max_bytes {
            return;
        }
        let text = match glyph.as_unicode() {
            Some(BfString::Char(character)) => readable(&character.to_string()),
            Some(BfString::String(text)) => readable(&text),
            None => String::new(),
        };
        let (start, end, up) = match mode {
            WritingMode::Horizontal => {
                let width = match glyph {
                    Glyph::Outline(outline) => outline.advance_width(),
                    Glyph::Type3(drawn) => drawn.advance_width(),
                };
                (Point::ZERO, Point::new(width.map_or(EM / 2.0, f64::from), 0.0), Vec2::new(0.0, EM))
            }
            // The origin is at the left bottom, and the next glyph is below.
            WritingMode::Vertical => (Point::new(0.0, EM), Point::ZERO, Vec2::new(EM, 0.0)),
        };
        let (placed_start, placed_end) = (transform * start, transform * end);
        let size = (transform * (Point::ZERO + up) - transform * Point::ZERO).hypot();
        let along = placed_end - placed_start;
        if !size.is_normal() || !along.hypot().is_finite() || !placed_start.is_finite() {
            return;
        }
        let direction = if along.hypot() > 0.0 {
            along / along.hypot()
        } else {
            self.last.map_or(Vec2::new(1.0, 0.0), |last| last.direction)
        };
        if text.trim().is_empty() {
            // A space that is a glyph: the next glyph is that much further, which separates the words. Narrow ones
            // would not.
            self.unknown += usize::from(text.is_empty());
            if !text.is_empty() && self.last.is_some() && !self.text.ends_with(char::is_whitespace) {
                self.text.push(' ');
            }
            return;
        }
        self.known += 1;
        // Rounded to a quarter of the font size.
        let grid = |length: f64| (length / size * 4.0).round().to_bits();
        if !self.written.insert((glyph.char_code(), grid(placed_start.x), grid(placed_start.y))) {
            return;
        }
        let is_wide = text.chars().any(is_wide);
        let placed = Placed { start: placed_start, end: placed_end, size, direction, is_wide };
        if let Some(last) = self.last {
            self.separate(&last, &placed);
        }
        self.text.push_str(&text);
        self.last = Some(placed);
    }

    /// Writes the white space between two glyphs, which follows from their distance.
    fn separate(&mut self, last: &Placed, next: &Placed) {
        let size = last.size.max(next.size);
        let gap = next.start - last.end;
        let along = gap.dot(last.direction) / size;
        let across = gap.cross(last.direction).abs() / size;
        let same_direction = last.direction.dot(next.direction) > 0.9;
        if same_direction && across < LINE_SHIFT && along > -1.0 {
            let word_gap = if last.is_wide && next.is_wide { WIDE_WORD_GAP } else { WORD_GAP };
            if along > COLUMN_GAP {
                self.end_word('\t');
            } else if along > word_gap {
                self.end_word(' ');
            }
        } else {
            self.end_word('\n');
            if across > PARAGRAPH_GAP || !same_direction {
                self.text.push('\n');
            }
        }
    }

    /// Writes the separator instead of spaces that are there already.
    fn end_word(&mut self, separator: char) {
        if separator == ' ' && self.text.ends_with(char::is_whitespace) {
            return;
        }
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push(separator);
    }

    /// Returns the text. If most glyphs are unknown, the rest would be scattered characters.
    fn finish(self) -> String {
        if self.unknown > self.known { String::new() } else { self.text }
    }
}

/// Replaces ligatures and the signs of Chinese radicals, which many PDF files contain instead of letters and
/// characters that look the same.
fn readable(text: &str) -> String {
    let is_compatible =
        |character: char| matches!(character, '\u{2e80}'..='\u{2fdf}' | '\u{fb00}'..='\u{fb06}' | '\u{a0}');
    let mut readable = String::with_capacity(text.len());
    for character in text.chars() {
        if is_compatible(character) {
            readable.extend(std::iter::once(character).nfkc());
        } else if !character.is_control() && !matches!(character, '\u{fffd}' | '\u{ad}') {
            readable.push(character);
        }
    }
    readable
}

/// Chinese and Japanese characters, which are written without spaces.
fn is_wide(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..)
}

impl<'a> Device<'a> for Writer {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        for glyph in run.glyphs() {
            self.glyph(glyph, props.transform * glyph.transform(), run.writing_mode());
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
}
