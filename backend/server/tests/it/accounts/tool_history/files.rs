//! The files of messages and calls in the tool history: their names and sizes, for admins who gave a reason.

use reqwest::StatusCode;
use tallybook_mock_llm::MockLlm;

use super::{
    super::{
        kit::{ADMIN, Team},
        shared_copies::ask_with_image,
    },
    kit::{page, say_why},
};
use crate::{
    files::PNG,
    support::{Engine, execute, on_every_engine, rows},
};

on_every_engine! {
    async fn admins_see_the_names_and_sizes_of_files_but_not_their_content(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (olga, _) = team.user(&admin, "olga").await;
        let uuid = ask_with_image(&team, &model, &olga).await;
        let calls: Vec<(i64,)> = rows!(team.app, (i64,), "SELECT id FROM tool_calls");
        execute!(
            team.app,
            "INSERT INTO tool_call_files (tool_call_id, position, file_id) SELECT t.id, 0, f.id FROM tool_calls t, files f"
        );
        let about = format!("heron.png <span class=\"soft\">image/png · {} bytes</span>", PNG.len());
        let addresses = [format!("/admin/conversations/{uuid}"), format!("/admin/calls/{}", calls[0].0)];
        for address in &addresses {
            let asked = page(&team, &admin, address, StatusCode::FORBIDDEN).await;
            assert!(!asked.contains("heron.png"), "{asked}");
        }
        assert_eq!(say_why(&team, &admin, &addresses[0], "an audit").await.status(), StatusCode::SEE_OTHER);
        for address in addresses {
            let shown = page(&team, &admin, &address, StatusCode::OK).await;
            assert_eq!(shown.matches(&about).count(), 1, "{shown}");
            assert!(!shown.contains("<img") && !shown.contains("/api/files/"), "{shown}");
        }
    }
}
