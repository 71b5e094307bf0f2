//! Files that are damaged, lie about their format, or are built to exhaust the reader.

use std::time::Duration;

use tallybook_documents::FileKind;
use tallybook_mock_files::{
    FONT, deflated, docx, gif_with_frames, huge_png, inflating_pdf, inflating_xlsx, jpeg_with_html, pdf, pdf_page,
    pdf_with_pages, png, xlsx, zip,
};

use crate::support::{endless_pdf, fixture, process, process_with, processor, unreadable, unsupported};

#[tokio::test]
async fn a_png_that_says_it_is_a_pdf_is_an_image() {
    let file = process(&fixture("picture.png"), "report.pdf").await.unwrap();
    assert_eq!((file.kind, file.media_type.as_str()), (FileKind::Image, "image/png"));
}

#[tokio::test]
async fn a_png_of_30_000_times_30_000_pixels_in_one_megabyte_is_refused_by_its_header() {
    let bomb = huge_png();
    assert!(bomb.len() < 1024 * 1024, "{} bytes", bomb.len());
    let reason = unreadable(process(&bomb, "bomb.png").await);
    assert_eq!(reason, "the image has too many pixels: 30000 × 30000; at most 50 million can be read");
}

#[tokio::test]
async fn an_image_with_sixteen_bits_per_channel_that_would_not_fit_is_refused() {
    let reason = unreadable(process(&png(7000, 7000, 16, 6, &deflated(0, 1)), "deep.png").await);
    assert!(reason.contains("8 bits per channel"), "{reason}");
}

#[tokio::test]
async fn a_polyglot_of_jpeg_and_html_is_an_image_without_the_html() {
    let script = b"<html><script>alert(1)</script></html>";
    let photo = fixture("picture.jpg");
    let file = process(&jpeg_with_html(&photo, script), "page.html").await.unwrap();
    assert_eq!((file.kind, file.media_type.as_str()), (FileKind::Image, "image/jpeg"));
    let image = file.image.unwrap();
    for encoded in [image.model, image.thumb] {
        assert!(!encoded.bytes.windows(8).any(|window| window == b"<script>"));
    }
    // The other way round, it is neither an image nor text.
    let reversed = [script.as_slice(), &photo].concat();
    assert_eq!(unsupported(process(&reversed, "photo.jpg").await), "binary data of an unknown format");
}

#[tokio::test]
async fn an_svg_with_a_script_is_plain_text() {
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
    for name in ["logo.svg", "logo.png", "logo.html"] {
        let file = process(svg.as_bytes(), name).await.unwrap();
        assert_eq!((file.kind, file.media_type.as_str()), (FileKind::Text, "text/plain"));
        assert_eq!((file.pages, file.image), (vec![svg.to_owned()], None));
    }
}

#[tokio::test]
async fn other_formats_are_unsupported_and_named() {
    for (file, found) in [
        (zip(&[("readme.txt", b"x")]), "a ZIP archive"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(), "a program"),
        (b"\0\0\0\x18ftypheic\0\0\0\0".to_vec(), "a HEIC image; save it as JPEG"),
        (b"II*\0\x08\0\0\0".to_vec(), "a TIFF image; save it as JPEG or PNG"),
        (vec![0; 100], "binary data of an unknown format"),
    ] {
        assert_eq!(unsupported(process(&file, "report.pdf").await), found);
    }
    let old = unsupported(process(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "old.doc").await);
    assert!(old.contains("save it as .docx"), "{old}");
    assert_eq!(unreadable(process(b"", "empty.txt").await), "the file is empty");
}

#[tokio::test]
async fn a_pdf_with_50_000_nested_arrays_does_no_harm() {
    let nested = [vec![b'['; 50_000], vec![b']'; 50_000]].concat();
    let text = b"BT /F 12 Tf 10 700 Td (after) Tj ET".as_slice();
    let in_content = pdf_page(&[&nested, b" TJ ".as_slice(), text].concat(), FONT, &[]);
    let in_object = pdf_page(text, FONT, std::slice::from_ref(&nested));
    let in_resources = pdf_page(text, &format!("/X {} {FONT}", String::from_utf8(nested).unwrap()), &[]);
    assert_eq!(process(&in_object, "x").await.unwrap().pages, ["after"]);
    // What surrounds the nested arrays is lost, but nothing else.
    for file in [in_content, in_resources] {
        match process(&file, "x").await {
            Ok(file) => assert_eq!(file.pages.len(), 1),
            other => assert_eq!(unreadable(other), "the PDF has no pages"),
        }
    }
}

#[tokio::test]
async fn an_encrypted_pdf_is_unreadable_and_says_why() {
    assert_eq!(unreadable(process(&fixture("password.pdf"), "x").await), "the PDF is protected by a password");
}

#[tokio::test]
async fn an_encrypted_office_file_is_unreadable_and_says_why() {
    let stream: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let office = [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".as_slice(), &[0; 504], &stream, &[0; 400]].concat();
    let manifest = b"<manifest:manifest><manifest:encryption-data/></manifest:manifest>";
    let open_document = zip(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("META-INF/manifest.xml", manifest),
        ("content.xml", b"\x12\x34"),
    ]);
    for file in [office, open_document] {
        assert_eq!(unreadable(process(&file, "x").await), "the file is protected by a password");
    }
}

#[tokio::test]
async fn a_pdf_with_no_pages_is_unreadable() {
    let empty = pdf(&[b"<</Type/Catalog/Pages 2 0 R>>".to_vec(), b"<</Type/Pages/Kids[]/Count 0>>".to_vec()]);
    assert!(unreadable(process(&empty, "x").await).contains("no pages"));
}

#[tokio::test]
async fn a_pdf_with_10_000_pages_is_read_and_one_with_more_is_cut() {
    let file = process(&pdf_with_pages(10_000), "x").await.unwrap();
    assert!(!file.truncated && file.pages.len() == 10_000);
    assert!(file.pages.iter().all(|page| page == "page"));
    let file = process(&pdf_with_pages(10_001), "x").await.unwrap();
    assert!(file.truncated && file.pages.len() == 10_000);
}

#[tokio::test]
async fn a_pdf_stream_that_inflates_to_a_gibibyte_runs_out_of_memory() {
    let reason = unreadable(process(&inflating_pdf(1024), "x").await);
    assert_eq!(reason, "the file is too complex: reading it takes more than 512 MiB of memory");
}

#[tokio::test]
async fn a_pdf_whose_forms_draw_each_other_a_thousandfold_is_given_up() {
    let with_short_timeout = processor().with_wall_time(Duration::from_secs(2));
    let reason = unreadable(process_with(&with_short_timeout, &endless_pdf(), "x").await);
    assert_eq!(reason, "the file is too complex: reading it took longer than 2 seconds");
}

#[tokio::test]
async fn a_zip_bomb_in_a_docx_is_refused() {
    let text = docx(&format!("<w:p><w:r><w:t>{}</w:t></w:r></w:p>", " ".repeat(300 * 1024 * 1024)));
    let elements = docx(&"<w:p></w:p>".repeat(15_000_000));
    for bomb in [text, elements] {
        assert!(bomb.len() < 2 * 1024 * 1024, "{} bytes", bomb.len());
        let reason = unreadable(process(&bomb, "x").await);
        assert_eq!(reason, "the file is too large: unpacked, its text takes more than 128 MiB");
    }
}

#[tokio::test]
async fn a_docx_with_more_text_than_the_limit_is_cut() {
    let file =
        process(&docx(&"<w:p><w:r><w:t>words of a paragraph</w:t></w:r></w:p>".repeat(300_000)), "x").await.unwrap();
    assert!(file.truncated);
    assert_eq!(file.pages.iter().map(String::len).sum::<usize>(), 4 * 1024 * 1024);
}

#[tokio::test]
async fn a_docx_with_deeply_nested_xml_is_read() {
    let levels = 500_000;
    let body = format!("{}<w:p><w:r><w:t>deep</w:t></w:r></w:p>{}", "<w:x>".repeat(levels), "</w:x>".repeat(levels));
    assert_eq!(process(&docx(&body), "x").await.unwrap().pages, ["deep"]);
}

#[tokio::test]
async fn a_docx_with_entities_that_expand_is_read_without_them() {
    let document = "<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\"><!ENTITY c SYSTEM \"file:///etc/passwd\">]>\
                    <w:document xmlns:w=\"w\"><w:p><w:r><w:t>x&b;y&c;z&amp;&#12354;</w:t></w:r></w:p></w:document>";
    let file = zip(&[("word/document.xml", document.as_bytes())]);
    assert_eq!(process(&file, "x").await.unwrap().pages, ["xyz&あ"]);
}

#[tokio::test]
async fn an_xlsx_with_a_formula_and_a_million_empty_rows_has_the_stored_value() {
    let rows: String = (2..1_000_000).fold(String::new(), |rows, row| rows + &format!("<row r=\"{row}\"/>"));
    let sheet = format!(
        "<row r=\"1\"><c r=\"A1\"><f>1+1</f><v>2</v></c></row>{rows}<row r=\"1000000\"><c r=\"C1000000\"><v>3</v></c></row>"
    );
    let file = process(&xlsx(&sheet), "x").await.unwrap();
    assert_eq!(file.pages, ["# Sheet1\n\n2\n\n\t\t3"]);
    assert!(!file.truncated);
}

#[tokio::test]
async fn a_zip_bomb_in_an_xlsx_is_refused() {
    let reason = unreadable(process(&inflating_xlsx(1024), "x").await);
    assert_eq!(reason, "the file is too complex: reading it takes more than 512 MiB of memory");
}

#[tokio::test]
async fn a_long_sheet_has_several_pages_that_end_between_rows() {
    let rows: Vec<String> =
        (1..=5000).map(|row| format!("<row r=\"{row}\"><c r=\"A{row}\"><v>{row}</v></c></row>")).collect();
    let pages = process(&xlsx(&rows.concat()), "x").await.unwrap().pages;
    assert!(pages.len() > 1 && pages.iter().all(|page| page.len() <= 16_000), "{}", pages.len());
    let numbers: Vec<String> = (1..=5000).map(|row| format!("\n{row}")).collect();
    assert_eq!(pages.concat(), format!("# Sheet1\n{}", numbers.concat()));
    assert!(pages[..pages.len() - 1].iter().all(|page| page.ends_with('\n')));
}

#[tokio::test]
async fn an_xlsx_with_cells_in_the_farthest_corner_takes_no_memory() {
    let sheet = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"1048576\"><c r=\"XFD1048576\"><v>2</v></c></row>";
    let text = process(&xlsx(sheet), "x").await.unwrap().pages.concat();
    assert_eq!(text.trim_start_matches("# Sheet1\n\n1\n\n").trim_start_matches('\t'), "2");
}

#[tokio::test]
async fn truncated_files_of_each_kind_are_unreadable() {
    for name in [
        "english.pdf",
        "word.docx",
        "excel.xlsx",
        "powerpoint.pptx",
        "text.odt",
        "sheet.ods",
        "slides.odp",
        "picture.png",
        "picture.jpg",
        "picture.webp",
        "picture.gif",
    ] {
        let file = fixture(name);
        for length in [file.len() / 2, file.len() * 9 / 10] {
            let reason = unreadable(process(&file[..length], name).await);
            assert!(reason.contains("cut off") || reason.contains("damaged"), "{name}: {reason}");
        }
    }
}

#[tokio::test]
async fn damaged_files_of_each_kind_end_in_a_result() {
    for name in [
        "english.pdf",
        "unijis-ucs2-h.pdf",
        "word.docx",
        "excel.xlsx",
        "powerpoint.pptx",
        "sheet.ods",
        "rotated.jpg",
        "picture.webp",
    ] {
        let file = fixture(name);
        for step in 1..6 {
            let mut damaged = file.clone();
            for position in (step * 7..damaged.len()).step_by(damaged.len() / 20) {
                damaged[position] ^= 0x55;
            }
            match process(&damaged, name).await {
                Ok(_)
                | Err(
                    tallybook_documents::ProcessError::Unreadable { .. }
                    | tallybook_documents::ProcessError::UnsupportedType { .. },
                ) => {}
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

#[tokio::test]
async fn a_gif_with_1_000_frames_is_its_first_frame() {
    let image = process(&gif_with_frames(1000), "x").await.unwrap().image.unwrap();
    assert_eq!((image.width, image.height), (64, 64));
    let model = image::load_from_memory(&image.model.bytes).unwrap().into_rgba8();
    assert_eq!(model.get_pixel(32, 32).0, [255, 0, 0, 255]);
}
