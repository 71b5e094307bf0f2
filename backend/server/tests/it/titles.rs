//! Titles of conversations that models write.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::Prices;

use crate::support::{Engine, Provider, TestApp, eventually, on_every_engine, rows};

async fn rename(app: &TestApp, conversation: &str, title: &str) {
    let path = app.url(&format!("/api/conversations/{conversation}"));
    let renamed = app.client.patch(path).json(&json!({"title": title})).send().await.unwrap();
    assert_eq!(renamed.status(), StatusCode::OK);
}

async fn title(app: &TestApp, conversation: &str) -> Value {
    app.conversation(conversation).await["title"].clone()
}

on_every_engine! {
    /// The title is the text of one model call without tools and with few tokens. The call belongs to no turn.
    async fn the_first_answer_gets_a_title(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine)
                .with_model(provider.settings(model.url()))
                .with_titles()
                .spawn()
                .await;
            let conversation = app.create_conversation().await;
            for words in ["It is four.", "\"Adding two and two.\"", "It is five."] {
                model.reply([text(words)]);
            }
            app.send(&conversation, "What is 2 + 2?").await.all().await;
            eventually("the conversation has a title", async || title(&app, &conversation).await == "Adding two and two").await;
            app.send(&conversation, "And 2 + 3?").await.all().await;
            app.shut_down().await;

            model.assert_calls_paired();
            let requests = model.requests();
            assert_eq!((requests.len(), model.unused_replies()), (3, 0), "later answers write no title");
            let asked = &requests[1];
            assert!(asked.body_text.contains("What is 2 + 2?") && asked.body_text.contains("It is four."));
            assert!(asked.body["tools"].is_null(), "{}", asked.body_text);
            let tokens = [&asked.body["max_tokens"], &asked.body["max_completion_tokens"]];
            assert!(tokens.iter().any(|tokens| tokens.as_u64().is_some_and(|tokens| tokens <= 1024)), "{tokens:?}");
        }
        let model_calls = rows!(engine, (String, i64), "SELECT purpose, COUNT(*) FROM model_calls GROUP BY purpose ORDER BY purpose");
        assert_eq!(model_calls, [("answer".to_owned(), 4), ("title".to_owned(), 2)], "a title does not count as a step");
    }

    /// The turn ends before the title arrives. If the user has renamed the conversation meanwhile, the user's title
    /// stays.
    async fn a_title_delays_no_turn_and_replaces_no_users_title(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_titles().spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([text("It is four.")]);
        let gate = model.reply_late([text("Too late")]);
        app.send(&conversation, "What is 2 + 2?").await.all().await;
        assert_eq!(app.idle_conversation(&conversation).await["title"], "What is 2 + 2?");
        model.requests_reached(2).await;
        rename(&app, &conversation, "My sums").await;
        gate.open();
        // The next title is written after this one, so by then this one could have been stored.
        let other = app.create_conversation().await;
        for words in ["It is five.", "Other sums"] {
            model.reply([text(words)]);
        }
        app.send(&other, "What is 2 + 3?").await.all().await;
        eventually("the other conversation has a title", async || title(&app, &other).await == "Other sums").await;
        assert_eq!(title(&app, &conversation).await, "My sums");
    }

    async fn a_failed_title_leaves_the_question(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine)
            .with_model(Provider::OpenAi.settings(model.url()))
            .with_titles()
            .spawn()
            .await;
        let named = app.create_conversation().await;
        rename(&app, &named, "Named before").await;
        model.reply([text("Four.")]);
        app.send(&named, "What is 2 + 2?").await.all().await;

        let failed = app.create_conversation().await;
        model.reply([text("Five.")]);
        model.fail(500, "no");
        app.send(&failed, "What is 2 + 3?").await.all().await;
        model.requests_reached(3).await;

        let hanging = app.create_conversation().await;
        model.reply([text("Six.")]);
        let gate = model.reply_late([text("Never")]);
        app.send(&hanging, "What is 3 + 3?").await.all().await;
        model.requests_reached(5).await;
        for (conversation, expected) in
            [(&named, "Named before"), (&failed, "What is 2 + 3?"), (&hanging, "What is 3 + 3?")]
        {
            assert_eq!(title(&app, conversation).await, expected);
        }
        // A shutdown does not wait for a title.
        app.shut_down().await;
        gate.abandoned().await;
    }

    async fn a_title_has_the_cost_of_its_model(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = tallybook_tools::builtin().unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).with_settings(|settings| {
            settings.titles = true;
            settings.models[0].prices = Some(Prices { input: 3.0, output: 15.0 });
        }).spawn()
        .await;
        let conversation = app.create_conversation().await;
        model.reply([text("It is four.")]);
        model.reply([text("Adding two and two")]);
        app.send(&conversation, "What is 2 + 2?").await.all().await;
        eventually("the conversation has a title", async || title(&app, &conversation).await == "Adding two and two").await;
        let sql = "SELECT input_tokens * 3000 + output_tokens * 15000, cost_nanos FROM model_calls WHERE purpose = 'title'";
        let [(expected, Some(cost))] = rows!(app, (i64, Option<i64>), sql)[..] else { panic!("the title has a cost") };
        assert!(cost > 0 && cost == expected, "{cost} instead of {expected}");
    }
}
