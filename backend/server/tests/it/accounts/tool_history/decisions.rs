//! The page of a call that needed approval: the input that the model proposed, the input that ran, who decided, and
//! why.

use reqwest::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput};

use super::{
    super::kit::{ADMIN, Team, Who, required},
    kit::{page, runs_ours_alone, say_why, with_admin},
};
use crate::support::{Engine, TestApp, on_every_engine, rows};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Dish {
    dish: String,
}

/// A tool that changes something, so its calls need approval.
pub(crate) struct Orders;

impl Tool for Orders {
    type Args = Dish;
    const NAME: &'static str = "order";
    const DESCRIPTION: &'static str = "Orders a dish.";
    const RISK: Risk = Risk::High;

    async fn call(&self, Dish { dish }: Dish) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("ordered {dish}")))
    }
}

/// Makes the model call `order`, decides on the call, and returns the call's id.
pub(crate) async fn decide(team: &Team, model: &MockLlm, who: &Who, decision: Value) -> i64 {
    let conversation = team.conversation(who).await;
    model.reply([tool_call("order", r#"{"dish":"<b>pizza</b>"}"#)]);
    team.ask(who, &conversation, "I am hungry").await;
    let id = rows!(team.app, (i64,), "SELECT id FROM tool_calls WHERE status = 'awaiting_approval'")[0].0;
    model.reply([text("Very well.")]);
    let decided = team.send(who, Method::POST, &format!("/api/tool-calls/{id}/decision"), decision).await;
    assert_eq!(decided.status(), StatusCode::OK);
    assert!(decided.text().await.unwrap().contains("event: message_end"));
    id
}

/// Returns a section of a page, by the beginning of its heading.
pub(crate) fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let rest = page.split(&format!("<h2>{heading}")).nth(1).unwrap_or_else(|| panic!("{heading} in {page}"));
    rest.split("</section>").next().unwrap()
}

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
        let (ann, _) = team.person(&admin, "ann").await;
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
