//! The page of a call that needed approval: the input that the model proposed, the input that ran, who decided, and
//! why.

use reqwest::StatusCode;
use serde_json::json;
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team, required, with_admin},
    kit::{Orders, decide, page, runs_ours_alone, say_why, section},
};
use crate::support::{Engine, TestApp, on_every_engine};

on_every_engine! {
    async fn the_page_of_a_call_shows_the_proposed_input_and_the_decider(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        with_admin(&engine).await;
        let tools = tallybook_tools::builtin().unwrap().with(Orders).unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_settings(|settings| settings.accounts = required())
            .spawn()
            .await;
        let team = Team::of(app);
        let admin = team.sign_in(ADMIN).await;
        let (ann, _) = team.user(&admin, "ann").await;
        let edited = decide(&team, &model, &ann, json!({"decision": "approve", "input": {"dish": "salad"}})).await;
        let denied = decide(&team, &model, &ann, json!({"decision": "deny", "reason": "too <i>late</i>"})).await;
        say_why(&team, &admin, &format!("/admin/calls/{edited}"), "to see who decides").await;

        let shown = page(&team, &admin, &format!("/admin/calls/{edited}"), StatusCode::OK).await;
        let proposed = section(&shown, "Input proposed by the model");
        assert!(proposed.contains("pizza") && !proposed.contains("salad"), "{proposed}");
        let ran = section(&shown, "Input <");
        assert!(ran.contains("salad") && !ran.contains("pizza"), "{ran}");
        assert!(section(&shown, "Output").contains("ordered salad"), "{shown}");
        assert!(section(&shown, "Decisions").contains("<li>Allowed once, by ann, <time datetime=\""), "{shown}");
        assert!(runs_ours_alone(&shown) && !shown.contains("<b>"), "{shown}");

        let shown = page(&team, &admin, &format!("/admin/calls/{denied}"), StatusCode::OK).await;
        let decisions = section(&shown, "Decisions");
        assert!(decisions.contains("<li>Denied, by ann, ") && decisions.contains("</time>: too "), "{decisions}");
        assert!(!shown.contains("Input proposed by the model") && !shown.contains("<i>"), "{shown}");
        assert!(section(&shown, "Input <").contains("pizza"), "{shown}");
    }
}
