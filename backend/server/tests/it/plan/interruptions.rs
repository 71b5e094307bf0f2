//! Interrupted answers with a plan: stopped, or killed with SIGKILL inside each write. They resume inside the
//! interrupted step, and no completed step or call runs again.

use serde_json::json;
use tallybook_mock_llm::{MockLlm, Reply, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, MessageStatus, PlanStepStatus};

use super::{LONG, folded, plan, send_planned, step_states, stored_plan};
use crate::support::{Engine, TestApp, Trap, end_of, on_every_engine, rows};

/// Writes of the turn that [`undisturbed`] scripts, in order: those of its plan, and some of those between them.
const WRITES: [Trap; 14] = [
    Trap { write: "INSERT ON model_calls", condition: "NEW.purpose = 'plan'" },
    Trap { write: "INSERT ON plans", condition: "NEW.revision = 1" },
    Trap { write: "INSERT ON plan_steps", condition: "NEW.position = 1" },
    Trap { write: "INSERT ON journal_events", condition: "NEW.event = 'plan'" },
    Trap { write: "UPDATE ON plan_steps", condition: "NEW.status = 'executing' AND NEW.position = 0" },
    Trap { write: "INSERT ON journal_events", condition: "NEW.event = 'plan_step'" },
    Trap { write: "INSERT ON tool_calls", condition: "NEW.position = 0" },
    Trap { write: "UPDATE ON tool_calls", condition: "NEW.position = 0 AND NEW.status <> OLD.status" },
    Trap { write: "INSERT ON model_calls", condition: "NEW.purpose = 'answer' AND NEW.step = 1" },
    Trap { write: "UPDATE ON plan_steps", condition: "NEW.status = 'completed' AND NEW.position = 0" },
    Trap { write: "UPDATE ON plan_steps", condition: "NEW.status = 'executing' AND NEW.position = 1" },
    Trap { write: "UPDATE ON plan_steps", condition: "NEW.status = 'completed' AND NEW.position = 1" },
    Trap { write: "INSERT ON model_calls", condition: "NEW.purpose = 'answer' AND NEW.step = 3" },
    Trap { write: "INSERT ON journal_events", condition: "NEW.event = 'message_end'" },
];

const QUESTION: &str = "1 + 2, doubled?";

/// Returns the model's replies: the plan, three replies for its two steps, and the final text.
fn undisturbed() -> [Reply; 5] {
    [
        [text(plan(&["Add.", "Double."]))].into(),
        [text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)].into(),
        [text(format!("It is three. {LONG}"))].into(),
        [text(format!("It is six. {LONG}"))].into(),
        [text("Six.")].into(),
    ]
}

/// Starts the program with a model that has all replies but the first `said`.
async fn launch(engine: &Engine, said: usize) -> (TestApp, MockLlm) {
    let model = MockLlm::start().await.unwrap();
    for reply in undisturbed().into_iter().skip(said) {
        model.reply(reply);
    }
    (TestApp::launch(engine, &model), model)
}

/// Returns the number of the model's replies that are stored for the newest turn; `None` if the turn is not stored. If
/// the plan is not stored, the program requests it again, so the result is 0.
async fn said(engine: &Engine) -> Option<usize> {
    let newest = "SELECT COUNT(*), (SELECT COUNT(*) FROM plans WHERE message_id = (SELECT MAX(id) FROM messages)), \
        (SELECT COUNT(*) FROM model_calls WHERE message_id = (SELECT MAX(id) FROM messages)) \
        FROM messages WHERE status <> 'complete'";
    let (begun, plans, calls) = rows!(engine, (i64, i64, i64), newest)[0];
    let said = if plans == 0 { 0 } else { usize::try_from(calls).unwrap() };
    (begun > 0).then_some(said)
}

on_every_engine! {
    async fn a_plan_resumes_after_a_kill_at_any_write(engine: Engine) {
        for write in WRITES {
            let (doomed, _model) = launch(&engine, 0).await;
            let conversation = doomed.create_conversation().await;
            let path = doomed.url(&format!("/api/conversations/{conversation}/messages"));
            let body = json!({"content": QUESTION, "mode": "plan"});
            write.lay(&engine).await;
            let asking = tokio::spawn(doomed.client.post(path).json(&body).send());
            write.sprung(&engine).await;
            doomed.kill();
            let _ = asking.await;
            write.clear(&engine).await;

            let said = said(&engine).await;
            let (app, model) = launch(&engine, said.unwrap_or_default()).await;
            let left = app.idle_conversation(&conversation).await;
            let events = if said.is_some() {
                assert_eq!(left["messages"][1]["status"], "interrupted", "{write:?}");
                app.continue_turn(&conversation).await.all().await
            } else {
                // On a slow machine, an earlier write was mistaken for the blocked one.
                send_planned(&app, &conversation, QUESTION).await.all().await
            };
            let end = end_of(&events);
            let whole = format!("Adding. \n\nIt is three. {LONG}\n\nIt is six. {LONG}\n\nSix.");
            assert_eq!((end.status, end.content.as_str()), (MessageStatus::Complete, whole.as_str()), "{write:?}");
            let made = folded(&events);
            let done = PlanStepStatus::Completed;
            assert_eq!(step_states(&made), [("Add.", done, 1), ("Double.", done, 1)], "{write:?}");
            let places: Vec<_> = made.steps.iter().map(|step| (step.offset, step.end_offset)).collect();
            let end_of_first = i64::try_from(format!("Adding. \n\nIt is three. {LONG}").len()).unwrap();
            let end_of_last = i64::try_from(whole.len() - "\n\nSix.".len()).unwrap();
            assert_eq!(places, [(Some(0), Some(end_of_first)), (Some(end_of_first), Some(end_of_last))], "{write:?}");
            assert_eq!(stored_plan(&app, &conversation).await, made, "{write:?}");
            let calls = "SELECT COUNT(*) FROM tool_calls WHERE status = 'success' \
                AND message_id = (SELECT MAX(id) FROM messages)";
            assert_eq!(rows!(engine, (i64,), calls), [(1,)], "{write:?}");
            assert_eq!(model.unused_replies(), 0, "{write:?}");
            model.assert_calls_paired();
        }
    }

    async fn a_stopped_step_resumes_and_completed_steps_stay(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text(plan(&["Add.", "Double."]))]);
        model.reply([text(format!("It is three. {LONG}"))]);
        model.reply([text("Doubling. "), tool_call("multiply", r#"{"a":3,"b":2}"#)]);
        model.reply([text("It is s"), hang()]);
        let mut turn = send_planned(&app, &conversation, "1 + 2, doubled?").await;
        turn.until("tool_call_end").await;
        turn.until("content_delta").await;
        app.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        let stopped = turn.all().await;
        let ended = end_of(&stopped);
        let half = [("Add.", PlanStepStatus::Completed, 1), ("Double.", PlanStepStatus::Executing, 1)];
        assert_eq!((ended.status, step_states(ended.plan.as_ref().unwrap())), (MessageStatus::Stopped, half.to_vec()));

        model.reply([text(format!("It is six. {LONG}"))]);
        model.reply([text("Six.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        let ChatEvent::Snapshot(snapshot) = &events[0] else { panic!("{events:?}") };
        assert_eq!(step_states(snapshot.plan.as_ref().unwrap()), half);
        assert_eq!(end_of(&events).content, format!("It is three. {LONG}\n\nDoubling. \n\nIt is six. {LONG}\n\nSix."));
        assert_eq!(folded(&events), stored_plan(&app, &conversation).await);
        let asked = model.requests();
        let resumed = asked[asked.len() - 2].body["messages"].to_string();
        assert!(resumed.contains("Doubling. ") && resumed.contains("on no other: Double."), "{resumed}");
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM tool_calls"), [(1,)]);
        model.assert_calls_paired();
    }

    /// The model fails twice in the step, then when it revises the plan, and then when it writes the final text.
    async fn a_turn_whose_model_always_fails_can_be_resumed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text(plan(&["Add."]))]);
        for _ in 0..4 {
            model.fail(400, "{}");
        }
        let events = send_planned(&app, &conversation, "1 + 2?").await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::Error(_))));
        assert_eq!(step_states(&folded(&events)), [("Add.", PlanStepStatus::Failed, 2)]);
        assert_eq!(model.unused_replies(), 0);
        model.reply([text(plan(&["Count."]))]);
        model.reply([text(LONG)]);
        model.reply([text("Three.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        assert_eq!(end_of(&events).content, format!("{LONG}\n\nThree."));
        let steps = [("Add.", PlanStepStatus::Failed, 2), ("Count.", PlanStepStatus::Completed, 1)];
        assert_eq!(step_states(&folded(&events)), steps);
    }
}
