//! Pages of another version than the server's, and the files of those pages: during a deployment, and after one.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::{Response, StatusCode};
use tallybook::http::{Site, SiteFile};
use tallybook_mock_llm::MockLlm;
use tallybook_protocol::PAGE_HEADER;

use crate::support::{Engine, TestApp, eventually, execute, on_every_engine, rows};

/// Returns a page with the style sheet `text` and a large program.
fn page(text: &str) -> Arc<Site> {
    let file = |name: &str, bytes: Bytes, media_type: &str, hash| SiteFile {
        name: name.to_owned(),
        bytes,
        media_type: media_type.to_owned(),
        hash,
    };
    let hash = u128::from(text.bytes().map(u64::from).sum::<u64>());
    let style = |end: &str, number| {
        file(&format!("pkg/a.css{end}"), format!("{text}{end}").into(), "text/css; charset=utf-8", hash + number)
    };
    Arc::new(Site::of([
        style("", 1),
        style(".br", 2),
        style(".gz", 3),
        file("pkg/a.wasm", program(), "application/wasm", hash + 4),
        file("pkg/empty.js", Bytes::new(), "text/javascript", hash + 5),
        file("favicon.svg", "icon".into(), "image/svg+xml", hash + 6),
    ]))
}

/// Returns more bytes than fit into one part. They are not text.
fn program() -> Bytes {
    (0..700_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>().into()
}

async fn start(engine: &Engine, model: &MockLlm, text: &str) -> TestApp {
    TestApp::builder(engine).with_mock(model).with_page(page(text)).spawn().await
}

/// Returns the path at which the page of this server requests its files.
async fn folder(app: &TestApp) -> String {
    app.get("/api/events").await.headers()[PAGE_HEADER].to_str().unwrap().to_owned()
}

async fn get(app: &TestApp, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = app.client.get(app.url(path));
    headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
}

async fn kept(app: &TestApp) -> i64 {
    rows!(app, (i64,), "SELECT COUNT(*) FROM page_versions")[0].0
}

async fn until_kept(app: &TestApp, versions: i64) {
    eventually("the server has stored its files", async || kept(app).await == versions).await;
}

on_every_engine! {
    async fn a_page_of_an_earlier_version_gets_its_files(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let earlier = start(&engine, &model, "earlier").await;
        let theirs = folder(&earlier).await;
        until_kept(&earlier, 1).await;
        let style = format!("{theirs}/a.css");
        let own = get(&earlier, &style, &[("accept-encoding", "br")]).await;
        earlier.shut_down().await;

        let app = start(&engine, &model, "later").await;
        assert_ne!(folder(&app).await, theirs);
        let foreign = get(&app, &style, &[("accept-encoding", "br")]).await;
        assert_eq!((own.status(), foreign.status()), (StatusCode::OK, StatusCode::OK));
        for name in ["content-type", "content-encoding", "cache-control", "etag", "vary", "content-length"] {
            assert_eq!(foreign.headers()[name], own.headers()[name], "{name}");
        }
        let tag = foreign.headers()["etag"].to_str().unwrap().to_owned();
        assert_eq!(foreign.headers()["content-encoding"], "br");
        assert_eq!(foreign.bytes().await.unwrap(), "earlier.br");
        for (accepted, body) in [("gzip", "earlier.gz"), ("identity", "earlier")] {
            assert_eq!(get(&app, &style, &[("accept-encoding", accepted)]).await.bytes().await.unwrap(), body);
        }
        let known = get(&app, &style, &[("accept-encoding", "br"), ("if-none-match", &tag)]).await;
        assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
        assert!(get(&app, &format!("{theirs}/a.wasm"), &[]).await.bytes().await.unwrap() == program());
        assert_eq!(get(&app, &format!("{theirs}/empty.js"), &[]).await.bytes().await.unwrap(), "");

        let own = format!("{}/a.css", folder(&app).await);
        assert_eq!(get(&app, &own, &[]).await.bytes().await.unwrap(), "later");
        for nothing in [
            format!("{theirs}/b.css"),
            format!("{theirs}/a.css.br"),
            format!("{theirs}/favicon.svg"),
            format!("{theirs}/a.css%00"),
            format!("{theirs}/{}", "a".repeat(500)),
            "/pkg/0123456789abcdef/a.css".to_owned(),
            "/pkg/%27%20OR%201=1/a.css".to_owned(),
        ] {
            let missing = get(&app, &nothing, &[]).await;
            assert_eq!(missing.status(), StatusCode::NOT_FOUND, "{nothing}");
            assert_eq!(missing.headers()["cache-control"], "no-store", "{nothing}");
        }
    }

    async fn the_most_recently_started_versions_are_kept(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let mut folders = Vec::new();
        for text in ["a", "b", "c", "d", "e", "a", "f"] {
            let app = start(&engine, &model, text).await;
            folders.push(folder(&app).await);
            let last = folders.last().unwrap().clone();
            eventually("this version is the newest stored one", async || {
                let kept = rows!(app, (String,), "SELECT folder FROM page_versions ORDER BY started_at DESC");
                kept.len() <= 5 && kept.first().is_some_and(|newest| newest.0 == last)
            })
            .await;
            app.shut_down().await;
        }
        let app = start(&engine, &model, "f").await;
        // The second version is gone. The first one is still there because it was started again.
        for (folder, status) in folders.iter().zip([200, 404, 200, 200, 200, 200, 200]) {
            assert_eq!(app.get(&format!("{folder}/a.css")).await.status(), status, "{folder}");
        }
        let left = rows!(app, (i64,), "SELECT COUNT(DISTINCT folder) FROM page_file_parts");
        assert_eq!(left, [(5,)]);
    }

    /// If the server cannot store its files, everything else still works.
    async fn a_server_starts_although_its_files_cannot_be_stored(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        execute!(app, "DROP TABLE page_file_parts");
        app.shut_down().await;
        let app = start(&engine, &model, "a").await;
        let own = format!("{}/a.css", folder(&app).await);
        assert_eq!(get(&app, &own, &[]).await.bytes().await.unwrap(), "a");
        app.create_conversation().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_store_a_version_once_and_serve_each_others_files() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let (one, same, other) =
            tokio::join!(start(&engine, &model, "one"), start(&engine, &model, "one"), start(&engine, &model, "other"));
        until_kept(&one, 2).await;
        let (folder_of_one, folder_of_other) = (folder(&one).await, folder(&other).await);
        assert_eq!(folder(&same).await, folder_of_one);
        for (app, folder, body) in
            [(&one, &folder_of_other, "other"), (&other, &folder_of_one, "one"), (&same, &folder_of_one, "one")]
        {
            assert_eq!(get(app, &format!("{folder}/a.css"), &[]).await.bytes().await.unwrap(), body);
            assert!(get(app, &format!("{folder}/a.wasm"), &[]).await.bytes().await.unwrap() == program());
        }
    }
}
