//! Tests of the rendered HTML: each construct, hostile text, growing text, and properties of any text.

mod constructs;
mod growing;
mod hostile;
mod properties;

use tallybook_nodes::write_html;

use crate::{Document, Labels, PART, render::render, write_html as write_text};

fn labels() -> Labels {
    let [copy, copied, wrap, download, copy_csv, footnote, footnote_back, table, task_done, task_open, left_out] = [
        "Copy",
        "Copied",
        "Wrap",
        "Download",
        "Copy as CSV",
        "Footnote",
        "Back to",
        "Table",
        "Done",
        "Not done",
        "Left out",
    ]
    .map(str::to_owned);
    Labels { copy, copied, wrap, download, copy_csv, footnote, footnote_back, table, task_done, task_open, left_out }
}

/// Returns the HTML of a complete text.
fn html(markdown: &str) -> String {
    html_of(&Document::complete(markdown))
}

fn html_of(document: &Document) -> String {
    let mut html = String::new();
    document.blocks().iter().for_each(|block| write_html(&render(block, "p", &labels()), &mut html));
    html
}

/// Returns the visible text of the HTML.
fn visible(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, text)| text));
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

const CODE_BAR: &str = "<span class=\"code-tools\">\
    <button type=\"button\" class=\"button quiet small wrap\" data-testid=\"wrap-code\" aria-pressed=\"false\">Wrap</button>\
    <button type=\"button\" class=\"button quiet small download\" data-testid=\"download-code\">Download</button>\
    <button type=\"button\" class=\"button quiet small copy\" data-testid=\"copy-code\">\
    <span class=\"copy-label\">Copy</span><span class=\"copy-done\">Copied</span></button></span></div>";

fn link(address: &str, words: &str) -> String {
    format!("<a href=\"{address}\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">{words}</a>")
}
