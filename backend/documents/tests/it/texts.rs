//! Plain text in several encodings.

use encoding_rs::{EUC_JP, SHIFT_JIS};
use tallybook_documents::FileKind;

use crate::support::{JAPANESE, process};

#[tokio::test]
async fn text_in_utf_8_utf_16_shift_jis_and_euc_jp() {
    let text = format!("{JAPANESE}\n二行目です。\n");
    let utf_16: Vec<u8> = format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let shift_jis = SHIFT_JIS.encode(&text).0.into_owned();
    let euc_jp = EUC_JP.encode(&text).0.into_owned();
    for file in [text.clone().into_bytes(), utf_16, shift_jis, euc_jp] {
        let read = process(&file, "memo.txt").await.unwrap();
        assert_eq!((read.kind, read.media_type.as_str()), (FileKind::Text, "text/plain"));
        assert_eq!(read.pages, [text.as_str()]);
    }
}

#[tokio::test]
async fn the_name_selects_only_between_kinds_of_text() {
    for (name, expected) in
        [("a.csv", "text/csv"), ("a.md", "text/markdown"), ("a.py", "text/x-python"), ("a.png", "text/plain")]
    {
        assert_eq!(process(b"a,b\n1,2\n", name).await.unwrap().media_type, expected);
    }
}

#[tokio::test]
async fn long_text_is_split_into_pages_and_cut_at_four_mebibytes() {
    let text = "A sentence of a long text.\n".repeat(200_000);
    let file = process(text.as_bytes(), "long.txt").await.unwrap();
    assert!(file.truncated);
    assert!(file.pages.iter().all(|page| page.chars().count() <= 4000));
    let together = file.pages.concat();
    assert_eq!(together.len(), 4 * 1024 * 1024);
    assert!(text.starts_with(&together));
}
