//! Native tool calls whose names and arguments are not quite what the tool takes: they run as in prompted mode.

use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::{ToolRegistry, builtin};

use crate::support::{Counts, Engine, Provider, TestApp, end_of, names, on_every_engine, rows};

/// Names that models write for `add`.
const NAMES: [&str; 5] =
    ["functions.add", "default_api.add", "default_api:add", "add<|channel|>commentary", "functions.add:0"];

/// Arguments that models write for a tool without parameters.
const NOTHING: [&str; 4] = ["null", "", "\"\"", "\"{}\""];

fn tools() -> ToolRegistry {
    builtin().unwrap().with(Counts::default()).unwrap()
}

on_every_engine! {
    /// The name that is stored, shown and sent back to the model is the tool's own.
    async fn a_name_with_a_namespace_or_a_special_token_matches_its_tool(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine)
                .with_model(provider.settings(model.url()))
                .with_tools(tools())
                .spawn()
                .await;
            for name in NAMES {
                let conversation = app.create_conversation().await;
                model.reply([tool_call(name, r#"{"a":12.5,"b":7.25}"#)]);
                model.reply([text("19.75.")]);
                let events = app.send(&conversation, "12.5 + 7.25?").await.all().await;
                let expected = ["message_start", "tool_call_start", "tool_call_end", "content_delta", "message_end"];
                assert_eq!(names(&events), expected, "{provider:?} {name}");
                let call = &end_of(&events).tool_calls[0];
                assert_eq!((call.tool_name.as_str(), call.output.as_deref()), ("add", Some("19.75")), "{provider:?} {name}");
                model.assert_calls_paired();
                let prompt = model.requests().pop().unwrap().body_text;
                assert!(prompt.contains("19.75") && !prompt.contains(name), "{provider:?} {name}: {prompt}");
            }
        }
        let calls = rows!(engine, (String, String), "SELECT DISTINCT tool_name, status FROM tool_calls");
        assert_eq!(calls, [("add".to_owned(), "success".to_owned())]);
    }

    /// `null` and the like count as empty arguments.
    async fn a_tool_without_parameters_accepts_empty_values(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine)
                .with_model(provider.settings(model.url()))
                .with_tools(tools())
                .spawn()
                .await;
            let conversation = app.create_conversation().await;
            for (run, written) in (1..).zip(NOTHING) {
                model.reply([tool_call("counts", written)]);
                model.reply([text("Counted.")]);
                let events = app.send(&conversation, "Count.").await.all().await;
                let call = &end_of(&events).tool_calls[0];
                let expected = (Some(run.to_string()), "{}");
                assert_eq!((call.output.clone(), call.input.as_str()), expected, "{provider:?} {written}");
                model.assert_calls_paired();
            }
        }
    }
}
