//! Storage that a user's files take: the quota, content of deleted and refused files, and the slots for uploads.

use futures_util::future::{join_all, select_all};
use reqwest::{Body, StatusCode};
use tallybook::config::Settings;
use tallybook_accounts::UserId;
use tallybook_files::{Files, FilesSettings};
use tallybook_mock_llm::MockLlm;

use crate::{
    accounts::kit::{ADMIN, Team},
    files::{PNG, assert_problem, delete, upload, uploaded},
    support::{Engine, Program, TestApp, on_every_engine, rows},
};

/// Maximum number of uploads that one user has at once.
const UPLOADS_OF_USER: usize = 16;

const STORED: &str = "SELECT (SELECT COUNT(*) FROM files), (SELECT COUNT(*) FROM blobs), \
                      (SELECT COUNT(*) FROM blob_chunks), (SELECT COUNT(*) FROM file_texts)";

/// Returns the number of files, contents, parts of content, and pages.
async fn stored(app: &TestApp) -> (i64, i64, i64, i64) {
    rows!(app, (i64, i64, i64, i64), STORED).remove(0)
}

/// Returns a text that the database stores in three parts, as one page for each 4,000 characters.
fn long_text() -> String {
    "0123456789".repeat(120_000)
}

on_every_engine! {
    async fn the_content_of_a_deleted_file_is_purged_unless_another_file_has_it(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (one, same) = (uploaded(&app, "one.txt", long_text()).await, uploaded(&app, "same.txt", long_text()).await);
        let image = uploaded(&app, "picture.png", PNG).await;
        assert_eq!(delete(&app, &one["id"]).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(delete(&app, &image["id"]).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(stored(&app).await, (1, 1, 3, 300));
        let content = app.get(&format!("/api/files/{}/content", same["id"].as_str().unwrap())).await;
        assert!(content.text().await.unwrap() == long_text(), "the content is whole");
        assert_eq!(delete(&app, &same["id"]).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(stored(&app).await, (0, 0, 0, 0));
    }

    async fn uploads_of_content_that_is_deleted_at_the_same_time_are_whole(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let mut files = vec![uploaded(&app, "a.txt", long_text()).await, uploaded(&app, "b.txt", long_text()).await];
        for _ in 0..5 {
            let uploads = join_all((0..4).map(|_| uploaded(&app, "c.txt", long_text())));
            let (next, deleted) = tokio::join!(uploads, join_all(files.iter().map(|file| delete(&app, &file["id"]))));
            assert!(deleted.iter().all(|response| response.status() == StatusCode::NO_CONTENT), "{deleted:?}");
            files = next;
            let content = app.get(&format!("/api/files/{}/content", files[0]["id"].as_str().unwrap())).await;
            assert!(content.text().await.unwrap() == long_text(), "the content is whole");
            assert_eq!(stored(&app).await, (4, 1, 3, 300));
        }
    }

    async fn refused_files_take_no_storage(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let limit = |settings: &mut Settings| settings.files.max_user_bytes = 1500;
        let app = TestApp::builder(&engine).with_mock(&model).with_settings(limit).spawn().await;
        // Without its length, the server knows only afterwards that the file is too large.
        let unsized_body = Body::wrap_stream(futures_util::stream::iter([Ok::<_, std::io::Error>("a".repeat(1501))]));
        assert_problem(upload(&app, "a.txt", unsized_body).await, 413, "storage-full").await;
        assert_eq!(stored(&app).await, (0, 0, 0, 0));
        // Each of these fits, but not two of them.
        let texts = ["a", "b", "c", "d"].map(|letter| letter.repeat(1000));
        let uploads = join_all(texts.iter().map(|text| upload(&app, "b.txt", text.clone()))).await;
        let created = uploads.iter().filter(|response| response.status() == StatusCode::CREATED).count();
        assert_eq!((created, stored(&app).await), (1, (1, 1, 1, 1)));
    }

    async fn the_environment_sets_the_limits(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let mut command = Program::command(&engine, &model);
        command.env("MAX_FILE_BYTES", "1000").env("MAX_FILES_PER_USER_BYTES", "1500");
        let app = TestApp::launch_command(&engine, &mut command);
        assert_problem(upload(&app, "a.txt", "a".repeat(1001)).await, 413, "file-too-large").await;
        uploaded(&app, "a.txt", "a".repeat(1000)).await;
        assert_problem(upload(&app, "b.txt", "b".repeat(501)).await, 413, "storage-full").await;
        uploaded(&app, "b.txt", "b".repeat(500)).await;
    }

    async fn one_user_does_not_block_the_uploads_of_others(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, bob) = (team.user(&admin, "ann").await.1, team.user(&admin, "bob").await.1);
        let settings = FilesSettings::with_program("none".into());
        let files = Files::new(team.app.database().await, settings).unwrap();
        let begin = |user| Box::pin(files.begin_upload(UserId(user), None));
        let running = join_all((0..UPLOADS_OF_USER).map(|_| begin(ann))).await;
        let mut waiting = select_all((0..UPLOADS_OF_USER).map(|_| begin(ann)));
        let of_bob = tokio::select! {
            _ = &mut waiting => panic!("one user has more than half of the slots"),
            all = join_all((0..UPLOADS_OF_USER).map(|_| begin(bob))) => all,
        };
        assert!(running.iter().chain(&of_bob).all(Result::is_ok), "{running:?} {of_bob:?}");
        drop(running);
        assert!(waiting.await.0.is_ok());
    }
}
