//! Approvals within a step of a plan: the turn waits, and resumes inside the step.

use serde_json::json;
use tallybook_mock_llm::text;
use tallybook_protocol::{MessageStatus, PlanStepStatus};

use super::{Fixture, asked, order};
use crate::{
    plan::{LONG, folded, plan, send_planned, step_states, stored_plan},
    support::{Engine, end_of, names, on_every_engine, rows},
};

on_every_engine! {
    async fn a_plan_step_waits_for_approval_and_resumes(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { app, model, orders, conversation, .. } = &fixture;
        model.reply([text(plan(&["Choose.", "Order."]))]);
        model.reply([text(LONG)]);
        model.reply([text("Ordering. "), order("pizza")]);
        let events = send_planned(app, conversation, "I am hungry").await.all().await;
        let end = end_of(&events);
        let half = [("Choose.", PlanStepStatus::Completed, 1), ("Order.", PlanStepStatus::Executing, 1)];
        assert_eq!((end.status, step_states(end.plan.as_ref().unwrap())), (MessageStatus::AwaitingApproval, half.to_vec()));
        model.reply([text(format!("It comes. {LONG}"))]);
        model.reply([text("Pizza is on its way.")]);
        let events = fixture.decide_last(asked(&events)[0], json!({"decision": "approve"})).await;
        let expected = [
            "snapshot", "approval_decided", "tool_call_start", "tool_call_end", "content_delta", "plan_step", "content_delta",
            "message_end",
        ];
        assert_eq!(names(&events), expected);
        assert_eq!(end_of(&events).content, format!("{LONG}\n\nOrdering. \n\nIt comes. {LONG}\n\nPizza is on its way."));
        assert_eq!(folded(&events), stored_plan(app, conversation).await);
        assert_eq!((orders.orders(), model.unused_replies()), (vec!["pizza".to_owned()], 0));
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM model_calls WHERE purpose = 'plan'"), [(1,)]);
        model.assert_calls_paired();
    }

    async fn a_waiting_plan_step_can_be_stopped_and_resumed(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { app, model, orders, conversation, .. } = &fixture;
        model.reply([text(plan(&["Order."]))]);
        model.reply([order("pizza")]);
        send_planned(app, conversation, "I am hungry").await.all().await;
        app.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        let stopped = app.idle_conversation(conversation).await;
        assert_eq!(stopped["messages"][1]["plan"]["steps"][0]["status"], "executing");
        model.reply([text(format!("Then not. {LONG}"))]);
        model.reply([text("Nothing was ordered.")]);
        let events = app.continue_turn(conversation).await.all().await;
        assert!(end_of(&events).content.ends_with("Nothing was ordered."));
        assert_eq!(step_states(&folded(&events)), [("Order.", PlanStepStatus::Completed, 1)]);
        assert!(orders.orders().is_empty());
        model.assert_calls_paired();
    }
}
