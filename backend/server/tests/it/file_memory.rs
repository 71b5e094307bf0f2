//! Memory that the server takes for large uploads at once.

use bytes::Bytes;
use futures_util::future::join_all;
use reqwest::Body;
use serde_json::Value;
use tallybook_mock_files::{FONT, pdf_page, pdf_stream};
use tallybook_mock_llm::MockLlm;

use crate::{
    file_faults::page_of,
    files::uploaded,
    support::{Engine, TestApp, on_every_engine},
};

const MEBIBYTE: usize = 1024 * 1024;

/// Maximum memory that ten uploads of 20 MiB at once may take beside what the server uses at rest, in KiB.
const UPLOADS_KIB: u64 = 64 * 1024;

/// Uploads ten files at once, each in parts of a mebibyte, and returns them with the additional memory that the server
/// took, in KiB.
async fn upload_ten(app: &TestApp, parts_of: impl Fn(u8) -> Vec<Bytes>) -> (Vec<Value>, u64) {
    uploaded(app, "first.txt", "The first file.").await;
    let before = app.process().memory_kib("VmRSS");
    let upload_one = async |number: u8| {
        // Streamed, so that this process does not copy all files either.
        let parts = parts_of(number).into_iter().map(Ok::<_, std::io::Error>);
        uploaded(app, &format!("file {number}"), Body::wrap_stream(futures_util::stream::iter(parts))).await
    };
    let files = join_all((0..10).map(upload_one)).await;
    (files, app.process().memory_kib("VmHWM").saturating_sub(before))
}

on_every_engine! {
    async fn ten_uploads_of_twenty_mebibytes_at_once_take_bounded_memory(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        let (files, taken) = upload_ten(&app, |number| {
            let part = Bytes::from(vec![b'a' + number; MEBIBYTE]);
            (0..20).map(|_| part.clone()).collect()
        })
        .await;
        assert!(files.iter().all(|file| file["bytes"] == 20 * MEBIBYTE), "{files:?}");
        assert!(taken < UPLOADS_KIB, "{taken} KiB");
    }

    /// Each document has an attachment that takes most of its size, and a page of text.
    async fn ten_uploads_of_large_documents_at_once_take_bounded_memory(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        let (files, taken) = upload_ten(&app, |number| {
            let content = format!("BT /F 12 Tf 10 700 Td (Document {number}) Tj ET");
            let attachment = pdf_stream("", &vec![number; 19 * MEBIBYTE]);
            let document = Bytes::from(pdf_page(content.as_bytes(), FONT, &[attachment]));
            (0..document.len()).step_by(MEBIBYTE).map(|at| document.slice(at..document.len().min(at + MEBIBYTE))).collect()
        })
        .await;
        for (number, file) in files.iter().enumerate() {
            assert_eq!(page_of(&app, file, 1).await["text"], format!("Document {number}"));
        }
        assert!(taken < UPLOADS_KIB, "{taken} KiB");
    }
}
