//! Faults of planners and judges. At worst, the question is answered without a plan, or from the results so far.

use serde_json::{Value, json};
use tallybook_accounts::AccountsSettings;
use tallybook_agent::Limits;
use tallybook_conversations::PlanSettings;
use tallybook_llm::{ModelSettings, ProviderKind};
use tallybook_mock_llm::{MockLlm, cut, text, tool_call};
use tallybook_protocol::{AnswerMode, MessageStatus, PlanStepStatus};

use super::{LONG, folded, plan, prompt, send_planned, step_states, stored_plan};
use crate::support::{Engine, Provider, TestApp, end_of, names, on_every_engine, rows};

on_every_engine! {
    async fn an_unreadable_plan_is_skipped(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let accounts = AccountsSettings { sharing: true, ..AccountsSettings::default() };
        let app = TestApp::builder(&engine).with_mock(&model).with_accounts(accounts).spawn().await;
        let long = "x".repeat(20_000);
        let unreadable = [
            "I would just answer.".to_owned(),
            plan(&[]),
            plan(&["One."; 6]),
            plan(&[&long]),
            plan(&["One.", " "]),
            "x".repeat(100_000),
        ];
        for words in unreadable {
            let conversation = app.create_conversation().await;
            model.reply([text(words.clone())]);
            // A plan that is far too long is not requested again.
            if words.len() < 100_000 {
                model.reply([text(words.clone())]);
            }
            model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
            model.reply([text("Three.")]);
            let events = send_planned(&app, &conversation, "1 + 2?").await.all().await;
            let expected = ["message_start", "tool_call_start", "tool_call_end", "content_delta", "message_end"];
            assert_eq!(names(&events), expected);
            let end = end_of(&events);
            assert_eq!((end.content.as_str(), end.status, &end.plan), ("Three.", MessageStatus::Complete, &None));
            assert_eq!(end.mode, AnswerMode::Plan, "clients see that a plan was requested");
            let stored = app.idle_conversation(&conversation).await;
            assert_eq!(stored["messages"][1]["mode"], "plan");
            assert!(stored["messages"][0].get("mode").is_none() && stored["messages"][1].get("plan").is_none());
            let file = app.get(&format!("/api/conversations/{conversation}/export?format=markdown")).await;
            let file = file.text().await.unwrap();
            assert!(file.contains("*The model could not make a plan, so it answered without one.*"), "{file}");
            for (tool_calls, says_so) in [(true, true), (false, false)] {
                let shares = format!("/api/conversations/{conversation}/shares");
                let share: Value = app.post(&shares, json!({ "tool_calls": tool_calls })).await.json().await.unwrap();
                let page = app.get(share["path"].as_str().unwrap()).await.text().await.unwrap();
                assert_eq!(page.contains("The model could not make a plan"), says_so, "plans are shared with the calls: {page}");
            }
            assert_eq!(model.unused_replies(), 0);
        }
        let second = &model.requests()[1];
        assert!(prompt(second).contains("not the JSON object that was asked for"), "{}", prompt(second));
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM plans"), [(0,)]);
    }

    async fn only_plan_steps_and_the_answer_search_the_web(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let settings = Provider::OpenAi.settings(model.url());
        let settings = ModelSettings { provider: ProviderKind::OpenRouter, web_search: true, ..settings };
        let app = TestApp::builder(&engine).with_model(settings).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([text(plan(&["Count."]))]);
        model.reply([text("One.")]);
        model.reply([text(r#"{"passed": true, "reason": "", "need_replan": false}"#)]);
        model.reply([text("One.")]);
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        assert!(end_of(&events).plan.is_some());
        let searched: Vec<bool> = model.requests().iter().map(|request| request.body["plugins"].is_array()).collect();
        assert_eq!(searched, [false, true, false, true], "the plan, its step, the judgment, the answer");
    }

    async fn a_failing_planner_does_not_fail_the_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"temperature is deprecated"}}"#;
        model.fail(400, refusal);
        model.reply([text(plan(&["Count."]))]);
        model.reply([text(LONG)]);
        model.reply([text("One.")]);
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        assert!(end_of(&events).plan.is_some());
        assert!(model.requests()[1].body.get("temperature").is_none());
        let conversation = app.create_conversation().await;
        model.fail(500, "{}");
        model.reply([text("One.")]);
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        assert_eq!((end_of(&events).content.as_str(), &end_of(&events).plan), ("One.", &None));
    }

    async fn after_the_last_attempt_the_answer_uses_the_results_so_far(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = tallybook_tools::builtin().unwrap();
        let settings = PlanSettings { max_attempts: 1, max_total_attempts: 2, ..PlanSettings::default() };
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(tools)
            .with_settings(|all| all.plan = settings)
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        model.reply([text(plan(&["Look.", "Summarize."]))]);
        model.reply([text("Error: no page")]);
        model.reply([text(plan(&["Look elsewhere.", "Summarize."]))]);
        model.reply([text("Error: no page there either")]);
        model.reply([text("Nothing was found.")]);
        let events = send_planned(&app, &conversation, "What is there?").await.all().await;
        let steps = [
            ("Look.", PlanStepStatus::Failed, 1),
            ("Look elsewhere.", PlanStepStatus::Failed, 1),
            ("Summarize.", PlanStepStatus::Pending, 0),
        ];
        assert_eq!(step_states(&folded(&events)), steps);
        assert!(end_of(&events).content.ends_with("Nothing was found."));
        assert!(prompt(model.requests().last().unwrap()).contains("no page there either"));
        assert_eq!(model.unused_replies(), 0);
    }

    /// The text of the failed attempts stays in the answer.
    async fn a_step_with_a_model_error_is_retried_and_then_the_plan_is_revised(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text(plan(&["Look.", "Double."]))]);
        model.fail(400, r#"{"error": {"message": "that cannot be asked"}}"#);
        model.reply([text("I look. "), cut()]);
        model.reply([text(plan(&["Guess."]))]);
        model.reply([text(LONG)]);
        model.reply([text("It is four.")]);
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        let made = folded(&events);
        let steps = [("Look.", PlanStepStatus::Failed, 2), ("Guess.", PlanStepStatus::Completed, 1)];
        assert_eq!((step_states(&made), made.revision), (steps.to_vec(), 2));
        assert!(made.steps[0].reason.is_some() && made.reason == made.steps[0].reason, "{made:?}");
        let end = end_of(&events);
        assert_eq!(end.content, format!("I look. \n\n{LONG}\n\nIt is four."));
        assert_eq!(stored_plan(&app, &conversation).await, made);
        let requests = model.requests();
        let again = prompt(&requests[2]);
        assert!(again.contains("An earlier attempt at this step was not good enough: "), "{again}");
        assert_eq!(model.unused_replies(), 0);
        model.assert_calls_paired();
    }

    /// The limits of a turn apply across all its steps. If the plan cannot be revised, the answer uses the results so
    /// far.
    async fn the_step_limit_applies_to_the_whole_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let limits = Limits { steps: 2, ..Limits::default() };
        let tools = tallybook_tools::builtin().unwrap();
        let settings = Provider::Anthropic.settings(model.url());
        let app = TestApp::builder(&engine).with_model(settings).with_tools(tools).with_limits(limits).spawn().await;
        let conversation = app.create_conversation().await;
        let add = || tool_call("add", r#"{"a":1,"b":2}"#);
        model.reply([text(plan(&["Add.", "Add more.", "Add on."]))]);
        model.reply([add()]);
        model.reply([text(LONG)]);
        model.reply([add()]);
        model.reply([text(LONG)]);
        model.reply([text("Six, and there I stopped.")]);
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        let steps = [
            ("Add.", PlanStepStatus::Completed, 1),
            ("Add more.", PlanStepStatus::Failed, 1),
            ("Add on.", PlanStepStatus::Pending, 0),
        ];
        assert_eq!(step_states(&folded(&events)), steps);
        let end = end_of(&events);
        assert_eq!((end.stop_reason.as_deref(), end.tool_calls.len()), (Some("step_limit"), 2));
        assert!(end.content.ends_with("and there I stopped."));
        assert_eq!(model.unused_replies(), 0);

        // The revised plan is unreadable.
        let conversation = app.create_conversation().await;
        model.reply([text(plan(&["Look."]))]);
        model.reply([text("Error: gone")]);
        model.reply([text("Error: gone")]);
        model.reply([text("No plan.")]);
        model.reply([text("No plan.")]);
        model.reply([text("It is gone.")]);
        let events = send_planned(&app, &conversation, "Where is it?").await.all().await;
        assert_eq!(step_states(&folded(&events)), [("Look.", PlanStepStatus::Failed, 2)]);
        assert!(end_of(&events).content.ends_with("It is gone."));
    }
}
