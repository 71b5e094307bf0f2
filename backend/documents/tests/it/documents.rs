//! Text of PDF, Office, OpenDocument and HTML files.

use tallybook_documents::FileKind;
use tallybook_mock_files::{FONT, pdf_page};

use crate::support::{JAPANESE, process, process_fixture};

#[tokio::test]
async fn a_pdf_has_its_words_lines_and_columns() {
    let file = process_fixture("english.pdf").await;
    assert_eq!((file.kind, file.media_type.as_str()), (FileKind::Document, "application/pdf"));
    let [page] = &file.pages[..] else { panic!("one page: {:?}", file.pages) };
    assert!(page.starts_with("Quarterly report\nThe office was efficient. The office was"), "{page}");
    assert!(page.ends_with("with bold words, and a note1.\nItem\tPrice\nApples\t1.20\nPears\t2.50"), "{page}");
    assert!(file.has_text && !file.truncated);
}

#[tokio::test]
async fn japanese_pdf_with_the_three_cmaps() {
    for name in ["unijis-ucs2-h.pdf", "unijis-utf16-h.pdf", "90ms-rksj-h.pdf"] {
        let file = process_fixture(name).await;
        let expected = format!("before\n\n{JAPANESE}\n日本語とEnglish wordsの混在\n東京都 2026年");
        assert_eq!(file.pages, [expected], "{name}");
    }
}

#[tokio::test]
async fn vertical_japanese_is_read_column_by_column() {
    assert_eq!(process_fixture("vertical.pdf").await.pages, ["吾輩は猫である。\n名前はまだ無い。"]);
}

#[tokio::test]
async fn marked_glyphs_of_a_pdf_are_read_as_the_text_for_which_they_stand() {
    let content = b"BT /F 12 Tf 10 700 Td (An o) Tj /Span<</ActualText(ffi)>>BDC (xyz) Tj EMC (ce of ) Tj \
                    /Span<</ActualText<feff732b>>>BDC (q) Tj EMC /P BMC (s) Tj EMC ET";
    assert_eq!(process(&pdf_page(content, FONT, &[]), "x").await.unwrap().pages, ["An office of 猫s"]);
}

#[tokio::test]
async fn a_pdf_without_text_has_pages_but_no_text() {
    let file = process_fixture("scanned.pdf").await;
    assert_eq!(file.pages, ["", ""]);
    assert!(!file.has_text);
}

#[tokio::test]
async fn a_pdf_that_anyone_may_open_is_read_although_it_is_encrypted() {
    assert!(process_fixture("owner-password.pdf").await.pages[0].contains("The office was efficient."));
}

#[tokio::test]
async fn a_word_file_has_headings_lists_and_tables() {
    let file = process_fixture("word.docx").await;
    assert_eq!(
        file.pages.concat(),
        format!(
            "# Minutes\n\nFirst paragraph with a\ttab.\n\n- One point\n\n## Figures\n\nName\tAmount\nCafé\t3 < 4 & \
             5\n\n{JAPANESE}"
        )
    );
}

#[tokio::test]
async fn a_workbook_has_a_page_per_sheet_with_dates_and_values() {
    let file = process_fixture("excel.xlsx").await;
    let first = "# 売上\n\nItem\tCount\tPrice\tDate\nApples\t3\t1.1\t2026-03-01\nPears\t0.3\tTRUE\t2026-03-01 \
                 13:30:00\n\nafter a gap";
    assert_eq!(file.pages, [first, "# Second\n\n\t\talone"]);
}

#[tokio::test]
async fn a_presentation_has_a_page_per_slide_with_its_notes() {
    let file = process_fixture("powerpoint.pptx").await;
    let second = format!("# {JAPANESE}\n\nleft\tright");
    assert_eq!(file.pages, ["# Roadmap\n\nFirst\nSecond\n\nNotes:\nSay hello", &second]);
}

#[tokio::test]
async fn open_document_files_are_read() {
    let text = process_fixture("text.odt").await;
    assert_eq!(text.pages.concat(), format!("## Heading\n\nTwo spaces   and a\ttab\n\n- point\n\n{JAPANESE}"));
    assert_eq!(process_fixture("sheet.ods").await.pages, ["# Figures\n\na\tb\n\n\t\t4.00"]);
    assert_eq!(process_fixture("slides.odp").await.pages, ["first slide", "second slide"]);
}

#[tokio::test]
async fn html_is_a_document_in_the_encoding_that_it_declares() {
    let page = format!("<!doctype html><meta charset=Shift_JIS><title>猫</title><p>{JAPANESE}</p><script>x()</script>");
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(&page);
    let file = process(&bytes, "page.txt").await.unwrap();
    assert_eq!((file.kind, file.media_type.as_str()), (FileKind::Document, "text/html"));
    assert_eq!(file.pages, [format!("猫\n\n{JAPANESE}")]);
}
