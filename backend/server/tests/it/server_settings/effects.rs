//! Effects of changed settings on turns: titles, reviews, summaries, plans and retention. New turns follow the change,
//! and running turns keep the settings that they started with. The parent module tests instructions, limits, sharing
//! and sign-up.

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::{MessageStatus, PlanStepStatus};

use super::{change, entry, start};
use crate::{
    approvals::{Orders, order, tools},
    operator_commands::{admin, said},
    plan::{LONG, folded, plan, send_planned, step_states},
    support::{Counts, Engine, TestApp, end_of, eventually, on_every_engine, rows},
};

/// Starts a server with the model `First`, and the model `Second` for other purposes.
async fn start_two(engine: &Engine, first: &MockLlm, second: &MockLlm, orders: &Orders) -> TestApp {
    let models = vec![entry("First", first), entry("Second", second)];
    TestApp::builder(engine).with_models(models).with_tools(tools(orders, &Counts::default())).spawn().await
}

/// Makes the model give this answer in a new conversation, and returns the conversation.
async fn ask(app: &TestApp, model: &MockLlm, answer: &str) -> String {
    let conversation = app.create_conversation().await;
    model.reply([text(answer)]);
    app.send(&conversation, "Well?").await.all().await;
    conversation
}

async fn title(app: &TestApp, conversation: &str) -> Value {
    app.conversation(conversation).await["title"].clone()
}

async fn has_summaries(app: &TestApp, expected: &[&str]) {
    let stored = "SELECT summary FROM conversation_summaries ORDER BY message_id";
    eventually("the summaries are stored", async || {
        rows!(app, (String,), stored).iter().map(|(summary,)| summary.as_str()).eq(expected.iter().copied())
    })
    .await;
}

on_every_engine! {
    async fn titles_are_written_only_for_turns_that_began_with_them(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        let before = ask(&app, &model, "One.").await;
        change(&app, json!({"llm_titles": true})).await;
        let running = app.create_conversation().await;
        let gate = model.reply_gated([text("Tw")], [text("o.")]);
        let mut events = app.send(&running, "Well?").await;
        events.until_text("Tw").await;
        change(&app, json!({"llm_titles": false})).await;
        model.reply([text("Counting to two")]);
        gate.open();
        events.all().await;
        eventually("the running turn has a title", async || title(&app, &running).await == "Counting to two").await;

        let after = ask(&app, &model, "Three.").await;
        // A title of the answer before would have been requested before this one.
        change(&app, json!({"llm_titles": true})).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Four.")]);
        model.reply([text("Counting to four")]);
        app.send(&conversation, "Well?").await.all().await;
        eventually("the last turn has a title", async || title(&app, &conversation).await == "Counting to four").await;
        for untitled in [before, after] {
            assert_eq!(title(&app, &untitled).await, "Well?");
        }
        let calls = rows!(app, (i64,), "SELECT COUNT(*) FROM model_calls WHERE purpose = 'title'");
        assert_eq!((calls[0].0, model.requests().len()), (2, 6));
    }

    async fn reviewers_vote_only_in_turns_that_began_with_them(engine: Engine) {
        let [model, reviewer] = [MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap()];
        let orders = Orders::default();
        let app = start_two(&engine, &model, &reviewer, &orders).await;
        let conversation = app.create_conversation().await;
        let approves = || reviewer.reply([text(json!({"verdict": "approve", "reason": "Fine."}).to_string())]);
        change(&app, json!({"review": {"models": ["Second"], "mode": "decide", "quorum": 1}})).await;
        model.reply([order("pizza")]);
        approves();
        model.reply([text("Enjoy.")]);
        let events = app.send(&conversation, "Pizza").await.all().await;
        assert_eq!((end_of(&events).status, orders.orders().len()), (MessageStatus::Complete, 1));

        let gate = model.reply_gated([text("Let me ")], [order("soup")]);
        let mut events = app.send(&conversation, "Soup").await;
        events.until_text("Let me ").await;
        change(&app, json!({"review": null})).await;
        approves();
        model.reply([text("Enjoy.")]);
        gate.open();
        assert_eq!(end_of(&events.all().await).status, MessageStatus::Complete);
        assert_eq!(orders.orders(), ["pizza", "soup"]);

        model.reply([order("cake")]);
        let events = app.send(&conversation, "Cake").await.all().await;
        assert_eq!(end_of(&events).status, MessageStatus::AwaitingApproval);
        assert_eq!((orders.orders().len(), reviewer.requests().len()), (2, 2));
    }

    async fn summaries_are_written_only_after_turns_that_began_with_them(engine: Engine) {
        let [model, writer] = [MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap()];
        let app = start_two(&engine, &model, &writer, &Orders::default()).await;
        ask(&app, &model, "One.").await;
        let memory = json!({"memory": {"summary_model": "Second", "after_tokens": 0, "max_chars": 500}});
        change(&app, memory.clone()).await;
        let running = app.create_conversation().await;
        let gate = model.reply_gated([text("Tw")], [text("o.")]);
        let mut events = app.send(&running, "Well?").await;
        events.until_text("Tw").await;
        change(&app, json!({"memory": {"max_chars": 0}})).await;
        writer.reply([text("They said two.")]);
        gate.open();
        events.all().await;
        has_summaries(&app, &["They said two."]).await;

        ask(&app, &model, "Three.").await;
        // A summary of the answer before would have been requested before this one.
        change(&app, memory).await;
        writer.reply([text("They said four.")]);
        ask(&app, &model, "Four.").await;
        has_summaries(&app, &["They said two.", "They said four."]).await;
        assert_eq!((writer.requests().len(), model.requests().len()), (2, 4));
    }

    async fn plans_follow_the_settings_that_their_turn_began_with(engine: Engine) {
        let [model, planner] = [MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap()];
        let app = start_two(&engine, &model, &planner, &Orders::default()).await;
        change(&app, json!({"plan": {"planner_model": "Second", "max_attempts": 1, "max_total_attempts": 5}})).await;
        let conversation = app.create_conversation().await;
        let gate = planner.reply_late([text(plan(&["Look."]))]);
        let events = send_planned(&app, &conversation, "How many?").await;
        gate.reached().await;
        change(&app, json!({"plan": null})).await;
        planner.reply([text(plan(&["Guess."]))]);
        for answer in ["Error: the page is gone.", LONG, "Four."] {
            model.reply([text(answer)]);
        }
        gate.open();
        let made = folded(&events.all().await);
        let steps = [("Look.", PlanStepStatus::Failed, 1), ("Guess.", PlanStepStatus::Completed, 1)];
        assert_eq!(step_states(&made), steps, "the failed step was not retried");
        assert_eq!((planner.requests().len(), model.requests().len()), (2, 3));

        for answer in [&plan(&["Look."]), "Error: the page is gone.", LONG, "Five."] {
            model.reply([text(answer)]);
        }
        let made = folded(&send_planned(&app, &conversation, "And now?").await.all().await);
        assert_eq!(step_states(&made), [("Look.", PlanStepStatus::Completed, 2)], "the model plans, and retries the step");
        assert_eq!((planner.requests().len(), model.requests().len()), (2, 7));
    }

    async fn a_shorter_retention_purges_what_was_deleted_before(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model).await;
        change(&app, json!({"retention_days": 30})).await;
        app.delete(&ask(&app, &model, "One.").await).await;
        // The command honors the setting, too.
        let (is_done, words) = said(&admin(&engine, &model, &["retention"]));
        assert!(is_done && words.contains("deleted conversations: 1;") && words.contains("due for purging: 0,"), "{words}");
        change(&app, json!({"retention_days": 0})).await;
        app.delete(&ask(&app, &model, "Two.").await).await;
        let left = async || rows!(app, (i64,), "SELECT COUNT(*) FROM conversations")[0].0;
        eventually("both conversations are purged", async || left().await == 0).await;
    }
}
