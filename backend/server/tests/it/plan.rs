//! Answers with a plan: it is made, its steps are run and judged, and it is replanned. Interruptions are in
//! `plan/interruptions`, errors of planners and judges in `plan/faults`, and approvals within a step in
//! `approvals/planned`.

mod faults;
mod interruptions;

use reqwest::Response;
use serde_json::{Value, json};
use tallybook_mock_llm::{CapturedRequest, MockLlm, text, tool_call};
use tallybook_protocol::{ChatEvent, MessageStatus, Plan, PlanStepStatus};

use crate::support::{Engine, EventReader, TestApp, end_of, names, on_every_engine, rows};

/// A result that is so long that no model is asked to judge it.
pub(crate) const LONG: &str = "This result is so long that it passes without a call to the judging model.";

/// Returns a plan as a planner writes it.
pub(crate) fn plan(instructions: &[&str]) -> String {
    let step = |instruction: &&str| json!({"instruction": instruction, "expected": "a number"});
    let steps: Vec<Value> = instructions.iter().map(step).collect();
    json!({"success_criteria": "The number is known.", "steps": steps}).to_string()
}

/// Sends a message that is answered with a plan.
pub(crate) async fn send_planned(app: &TestApp, conversation: &str, content: &str) -> EventReader {
    let body = json!({"content": content, "mode": "plan"});
    EventReader::new(app.post(&format!("/api/conversations/{conversation}/messages"), body).await)
}

/// Returns the instruction, status and attempt of each step of a plan.
pub(crate) fn step_states(plan: &Plan) -> Vec<(&str, PlanStepStatus, i32)> {
    plan.steps.iter().map(|step| (step.instruction.as_str(), step.status, step.attempt)).collect()
}

/// Returns the plan of a client that has received these events.
pub(crate) fn folded(events: &[ChatEvent]) -> Plan {
    let mut held: Option<Plan> = None;
    for event in events {
        match event {
            ChatEvent::Plan(plan) => held = Some(plan.clone()),
            ChatEvent::PlanStep(changed) => held.as_mut().unwrap().apply(changed),
            ChatEvent::Snapshot(snapshot) => held.clone_from(&snapshot.plan),
            _ => {}
        }
    }
    held.expect("the events contain a plan")
}

/// Returns the stored plan of a conversation's answer.
pub(crate) async fn stored_plan(app: &TestApp, conversation: &str) -> Plan {
    let seen = app.idle_conversation(conversation).await;
    serde_json::from_value(seen["messages"][1]["plan"].clone()).expect("it has a plan")
}

/// Returns the messages of a request, without its system prompt.
fn prompt(request: &CapturedRequest) -> String {
    request.body["messages"].to_string()
}

async fn text_of(response: Response) -> String {
    response.text().await.unwrap()
}

on_every_engine! {
    /// The second of four steps cannot be done. It is retried, and then the rest of the plan is replanned.
    async fn a_failed_step_is_retried_and_then_the_plan_is_revised(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let words = |words: &str| format!("{words} {LONG}");
        model.reply([text(plan(&["Add.", "Look.", "Double.", "Sum up."]))]);
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text(words("It is three."))]);
        model.reply([text("Error: the page is gone.")]);
        model.reply([text("I looked.\nError: the page is still gone.")]);
        model.reply([text(format!("Sure:\n```json\n{}\n```", plan(&["Guess.", "Check."])))]);
        model.reply([text("Four.")]);
        model.reply([text(r#"{"passed": true, "reason": "It is a number."}"#)]);
        model.reply([text(words("It fits."))]);
        model.reply([text("It is **four**.")]);
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        let expected = [
            "message_start", "plan", "plan_step", "content_delta", "tool_call_start", "tool_call_end", "content_delta",
            "plan_step", "plan_step", "content_delta", "plan_step", "content_delta", "plan_step", "plan", "plan_step",
            "content_delta", "plan_step", "plan_step", "content_delta", "plan_step", "content_delta", "message_end",
        ];
        assert_eq!(names(&events), expected);
        let made = folded(&events);
        let steps = [
            ("Add.", PlanStepStatus::Completed, 1), ("Look.", PlanStepStatus::Failed, 2),
            ("Guess.", PlanStepStatus::Completed, 1), ("Check.", PlanStepStatus::Completed, 1),
        ];
        assert_eq!(step_states(&made), steps);
        let gone = "Error: the page is still gone.";
        assert_eq!((made.revision, made.reason.as_deref(), made.steps[1].reason.as_deref()), (2, Some(gone), Some(gone)));
        assert_eq!(made.steps[2].reason.as_deref(), Some("It is a number."));
        assert_eq!(made.steps.iter().map(|step| step.revision).collect::<Vec<_>>(), [1, 1, 2, 2]);
        let end = end_of(&events);
        assert_eq!((end.status, end.plan.as_ref()), (MessageStatus::Complete, Some(&made)));
        assert_eq!(stored_plan(&app, &conversation).await, made);

        // The answer is one text. The plan has the offsets at which each step starts and ends in it.
        let places: Vec<_> = made.steps.iter().map(|step| (step.offset.unwrap(), step.end_offset.unwrap())).collect();
        assert!(places.iter().all(|(from, to)| from < to) && places.is_sorted(), "{places:?}");
        let part = |from: i64, to: i64| &end.content[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()];
        assert_eq!(part(places[0].0, places[0].1), format!("Adding. \n\nIt is three. {LONG}"));
        assert_eq!(part(places[2].0, places[2].1), "\n\nFour.");
        assert_eq!(&end.content[usize::try_from(places[3].1).unwrap()..], "\n\nIt is **four**.");
        assert_eq!(made.steps.iter().map(|step| step.calls_before.unwrap()).collect::<Vec<_>>(), [0, 1, 1, 1]);

        let asked = model.requests();
        assert!(prompt(&asked[0]).contains("How many?") && asked[0].body["temperature"].as_f64() == Some(0.0));
        assert!(prompt(&asked[1]).contains("How many?") && prompt(&asked[1]).contains("on no other: Add."));
        assert!(prompt(&asked[3]).contains("It is three.") && !prompt(&asked[3]).contains("not good enough"));
        assert!(prompt(&asked[4]).contains("not good enough: Error: the page is gone."));
        assert!(prompt(&asked[5]).contains("the page is still gone") && !prompt(&asked[5]).contains("refused"));
        assert!(prompt(&asked[9]).contains("Four.") && asked[9].body["tool_choice"]["type"] == "none");
        let mut purposes = rows!(app, (String, i64), "SELECT purpose, COUNT(*) FROM model_calls GROUP BY purpose");
        purposes.sort();
        let purposes: Vec<_> = purposes.iter().map(|(purpose, calls)| (purpose.as_str(), *calls)).collect();
        assert_eq!(purposes, [("answer", 7), ("evaluate", 1), ("plan", 2)]);

        // Later prompts contain the answer, but not the steps that led to it.
        model.reply([text("Yes.")]);
        app.send(&conversation, "Sure?").await.all().await;
        let later = prompt(model.requests().last().unwrap());
        assert!(later.contains("It is **four**.") && !later.contains("It is three."), "{later}");
        model.assert_calls_paired();
    }

    async fn a_judge_can_request_a_retry_or_a_revised_plan(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text(plan(&["Count.", "Double."]))]);
        model.reply([text("Three.")]);
        model.reply([text(r#"No: {"passed": false, "reason": "There is one more."}"#)]);
        model.reply([text("Four.")]);
        model.reply([text(r#"{"passed": true, "need_replan": true, "reason": "It is doubled already."}"#)]);
        model.reply([text(plan(&["Say it."]))]);
        model.reply([text("Four!")]);
        model.reply([text("I cannot tell.")]);
        model.reply([text("Four.")]);
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        let made = folded(&events);
        assert_eq!(step_states(&made), [("Count.", PlanStepStatus::Completed, 2), ("Say it.", PlanStepStatus::Completed, 1)]);
        assert_eq!((made.revision, made.reason.as_deref()), (2, Some("It is doubled already.")));
        let asked = model.requests();
        assert!(prompt(&asked[2]).contains("Three."));
        assert!(prompt(&asked[3]).contains("not good enough: There is one more."));
        assert!(!prompt(&asked[3]).contains("Three."), "a retry does not see the failed attempt");
        assert!(prompt(&asked[5]).contains("It is doubled already."));
        assert_eq!(stored_plan(&app, &conversation).await, made);
        assert_eq!(model.unused_replies(), 0);
    }

    async fn a_regenerated_answer_uses_a_plan_again(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for answer in ["One.", "Two."] {
            model.reply([text(plan(&["Count."]))]);
            model.reply([text(LONG)]);
            model.reply([text(answer)]);
        }
        let events = send_planned(&app, &conversation, "How many?").await.all().await;
        let id = end_of(&events).assistant_message_id;
        let again = format!("/api/conversations/{conversation}/messages/{id}/regenerate");
        let events = EventReader::new(app.post(&again, json!({})).await).all().await;
        assert!(end_of(&events).content.ends_with("Two.") && end_of(&events).plan.is_some());
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM plans"), [(2,)]);

        let markdown = text_of(app.get(&format!("/api/conversations/{conversation}/export?format=markdown")).await).await;
        let places = ["**Plan**", "1. Count. (done)", "**Step 1**", LONG, "**Answer**", "Two."];
        let found: Vec<_> = places.iter().map(|words| markdown.find(words)).collect();
        assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?} in {markdown}");
        let file = app.get_json(&format!("/api/conversations/{conversation}/export?format=json")).await;
        assert_eq!(file["messages"][1]["plan"]["steps"][0]["status"], "completed");
    }
}
