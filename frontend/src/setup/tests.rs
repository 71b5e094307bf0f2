//! Tests of the setup of a model, one input at a time. `tool_servers` has those of a tool server.

mod tool_servers;

use serde_json::{Value, json};
use tallybook_protocol::{
    ConfiguredModel, DiscoveredModel, DiscoveredModels, ModelFields, ModelTest, SettingsOrigin, TestedToolMode,
};

use super::{EntryKind, Fault, Field, Provider, Reason, Setup, SetupEffect, SetupInput, TestResult, Work};
use crate::api::ApiError;

fn refused(status: u16, code: &str) -> ApiError {
    ApiError::Refused { status, code: code.to_owned(), detail: "It said no.".to_owned() }
}

fn invalid(detail: &str) -> ApiError {
    ApiError::Refused { status: 422, code: "invalid-model".to_owned(), detail: detail.to_owned() }
}

fn write(setup: &mut Setup, field: Field, text: &str) {
    assert!(setup.take(SetupInput::Write(field, text.to_owned())).is_empty());
}

fn texts(setup: &Setup, fields: &[Field]) -> Vec<String> {
    fields.iter().map(|field| setup.form().text(*field).to_owned()).collect()
}

fn problem(setup: &Setup) -> Option<(Option<Field>, Reason)> {
    setup.problem().map(|problem| (problem.field, problem.reason.clone()))
}

/// Checks that an input only moves the focus.
fn focuses(setup: &mut Setup, input: SetupInput, field: Option<Field>) {
    match setup.take(input).as_slice() {
        [SetupEffect::Focus(focused)] => assert_eq!(*focused, field),
        effects => panic!("{} effects", effects.len()),
    }
}

/// A setup with a provider and its key.
fn with_key(provider: Provider) -> Setup {
    let mut setup = Setup::new(EntryKind::Model, None);
    setup.take(SetupInput::Choose(provider));
    write(&mut setup, Field::Secret, " sk-1 ");
    setup
}

fn begin_finding(setup: &mut Setup) -> u32 {
    match setup.take(SetupInput::Find).as_slice() {
        [SetupEffect::Find(ticket, _)] => *ticket,
        effects => panic!("{} effects", effects.len()),
    }
}

fn begin_testing(setup: &mut Setup) -> u32 {
    match setup.take(SetupInput::Test).as_slice() {
        [SetupEffect::Test(ticket, _)] => *ticket,
        effects => panic!("{} effects", effects.len()),
    }
}

fn begin_adding(setup: &mut Setup) -> u32 {
    match setup.take(SetupInput::Save).as_slice() {
        [SetupEffect::Add(ticket, _)] => *ticket,
        effects => panic!("{} effects", effects.len()),
    }
}

fn offer() -> DiscoveredModels {
    let known = DiscoveredModel {
        model: "maker/large".to_owned(),
        title: Some("Large".to_owned()),
        context_tokens: Some(128_000),
        vision: Some(true),
        input_price: Some(2.5),
        output_price: Some(10.0),
    };
    let plain = DiscoveredModel { model: "maker/small".to_owned(), ..DiscoveredModel::default() };
    DiscoveredModels { items: vec![known, plain] }
}

fn stored() -> ConfiguredModel {
    let fields = ModelFields {
        name: "Large".to_owned(),
        provider: "openai".to_owned(),
        model: Some("large".to_owned()),
        max_tokens: Some(4096),
        reasoning_effort: Some("low".to_owned()),
        quirks: [("no_images".to_owned(), true)].into(),
        ..ModelFields::default()
    };
    ConfiguredModel {
        fields,
        origin: SettingsOrigin::Page,
        has_key: true,
        is_default: true,
        problem: None,
        problem_code: None,
        version: Some(3),
        updated_at: None,
    }
}

fn edited() -> Setup {
    Setup::new(EntryKind::Model, Some(stored().into()))
}

const PREFILLED: [Field; 5] = [Field::Name, Field::ContextTokens, Field::Vision, Field::InputPrice, Field::OutputPrice];

#[test]
fn the_provider_is_asked_with_its_address_and_the_trimmed_key() {
    for (provider, setting, address) in [
        (Provider::Anthropic, "anthropic", None),
        (Provider::OpenAi, "openai", None),
        (Provider::OpenRouter, "openrouter", None),
        (Provider::Gemini, "openai", Some("https://generativelanguage.googleapis.com/v1beta/openai")),
    ] {
        let mut setup = with_key(provider);
        let effects = setup.take(SetupInput::Find);
        let [SetupEffect::Find(_, asked)] = effects.as_slice() else { panic!("{provider:?}") };
        assert_eq!((asked.provider.as_str(), asked.base_url.as_deref()), (setting, address));
        assert_eq!(asked.api_key.as_deref(), Some("sk-1"));
    }
}

#[test]
fn choosing_ollama_asks_it_for_its_models_once_and_quietly() {
    let detect = |setup: &mut Setup| {
        let effects = setup.take(SetupInput::Choose(Provider::Ollama));
        let [SetupEffect::Find(ticket, asked)] = effects.as_slice() else { panic!("{} effects", effects.len()) };
        assert_eq!((asked.provider.as_str(), asked.base_url.as_deref()), ("ollama", Some("http://127.0.0.1:11434/v1")));
        assert_eq!((setup.work(), &asked.api_key), (None, &None), "the user does not wait for it");
        *ticket
    };
    let mut setup = Setup::new(EntryKind::Model, None);
    let ticket = detect(&mut setup);
    assert!(
        setup.take(SetupInput::Choose(Provider::Ollama)).contains(&SetupEffect::Abort),
        "choosing it again asks nothing"
    );
    assert!(setup.take(SetupInput::Found(ticket, Ok(offer()))).is_empty(), "the request was cancelled");

    setup.take(SetupInput::Choose(Provider::Anthropic));
    let ticket = detect(&mut setup);
    assert!(setup.take(SetupInput::Found(ticket, Ok(offer()))).is_empty(), "the focus stays");
    assert_eq!(setup.offered().map(<[_]>::len), Some(2));

    setup.take(SetupInput::Choose(Provider::Anthropic));
    let ticket = detect(&mut setup);
    assert!(setup.take(SetupInput::Found(ticket, Err(refused(502, "model-unreachable")))).is_empty());
    assert_eq!((problem(&setup), setup.offered()), (None, None));
    assert_eq!(setup.form().text(Field::Address), "http://127.0.0.1:11434/v1");

    // A press of the button replaces the request, and shows a failure.
    setup.take(SetupInput::Choose(Provider::Anthropic));
    detect(&mut setup);
    let ticket = begin_finding(&mut setup);
    focuses(&mut setup, SetupInput::Found(ticket, Err(refused(502, "model-unreachable"))), Some(Field::Address));
}

#[test]
fn opening_the_dialog_detects_ollama() {
    let mut setup = Setup::new(EntryKind::Model, None);
    let effects = setup.take(SetupInput::Open);
    let [SetupEffect::FindLocal(asked)] = effects.as_slice() else { panic!("{} effects", effects.len()) };
    let address = asked.base_url.as_deref();
    assert_eq!((asked.provider.as_str(), address, asked.optional), ("ollama", Some("http://127.0.0.1:11434/v1"), true));
    assert_eq!(setup.work(), None, "the user does not wait for it");
    assert!(!setup.is_found(Provider::Ollama));
    assert!(setup.take(SetupInput::FoundLocal(offer().items)).is_empty());
    assert!(setup.is_found(Provider::Ollama) && !setup.is_found(Provider::Compatible));
    assert!(edited().take(SetupInput::Open).is_empty());
    assert!(Setup::new(EntryKind::ToolServer, None).take(SetupInput::Open).is_empty());
}

#[test]
fn a_missing_key_or_address_is_reported_at_its_field() {
    let mut setup = Setup::new(EntryKind::Model, None);
    setup.take(SetupInput::Choose(Provider::Anthropic));
    focuses(&mut setup, SetupInput::Find, Some(Field::Secret));
    assert_eq!(problem(&setup), Some((Some(Field::Secret), Reason::Field(Fault::Missing))));
    write(&mut setup, Field::Secret, "k");
    assert_eq!(problem(&setup), None, "writing takes the message back");
    setup.take(SetupInput::Choose(Provider::Compatible));
    assert_eq!(setup.form().text(Field::Secret), "", "a key is never sent to another provider");
    focuses(&mut setup, SetupInput::Find, Some(Field::Address));
    write(&mut setup, Field::Address, "localhost:8000");
    focuses(&mut setup, SetupInput::Find, Some(Field::Address));
    assert_eq!(problem(&setup), Some((Some(Field::Address), Reason::Field(Fault::NotAnAddress))));
    write(&mut setup, Field::Address, "http://localhost:8000/v1");
    begin_finding(&mut setup);
}

#[test]
fn a_refusal_of_the_provider_keeps_all_texts() {
    let mut setup = with_key(Provider::OpenAi);
    write(&mut setup, Field::Name, "Mine");
    let ticket = begin_finding(&mut setup);
    assert_eq!(setup.work(), Some(Work::Finding));
    let error = refused(502, "model-unreachable");
    focuses(&mut setup, SetupInput::Found(ticket, Err(error.clone())), Some(Field::Secret));
    assert_eq!(problem(&setup), Some((Some(Field::Secret), Reason::Request(error))));
    assert_eq!(texts(&setup, &[Field::Secret, Field::Name]), [" sk-1 ", "Mine"]);
    assert_eq!(setup.work(), None);
    let ticket = begin_finding(&mut setup);
    focuses(&mut setup, SetupInput::Found(ticket, Err(ApiError::Unreachable)), None);
    let mut setup = with_key(Provider::Compatible);
    write(&mut setup, Field::Address, "http://127.0.0.1:8000/v1");
    for (reason, field) in
        [("The server rejected the API key.", Field::Secret), ("It cannot be reached.", Field::Address)]
    {
        let ticket = begin_finding(&mut setup);
        let error = ApiError::Refused { status: 502, code: "model-unreachable".to_owned(), detail: reason.to_owned() };
        focuses(&mut setup, SetupInput::Found(ticket, Err(error)), Some(field));
    }
}

#[test]
fn a_chosen_model_fills_the_fields_that_the_user_has_not_changed() {
    let mut setup = with_key(Provider::OpenRouter);
    let ticket = begin_finding(&mut setup);
    focuses(&mut setup, SetupInput::Found(ticket, Ok(offer())), Some(Field::Model));
    setup.take(SetupInput::Pick("maker/large".to_owned()));
    assert_eq!(texts(&setup, &PREFILLED), ["Large", "128000", "yes", "2.5", "10"]);
    setup.take(SetupInput::Pick("maker/small".to_owned()));
    assert_eq!(texts(&setup, &PREFILLED), ["small", "", "", "", ""]);
    write(&mut setup, Field::Name, "Mine");
    write(&mut setup, Field::OutputPrice, "7");
    setup.take(SetupInput::Pick("maker/large".to_owned()));
    assert_eq!(texts(&setup, &PREFILLED), ["Mine", "128000", "yes", "", "7"], "prices belong together");
}

#[test]
fn late_and_cancelled_responses_are_ignored() {
    let mut setup = with_key(Provider::OpenAi);
    let first = begin_finding(&mut setup);
    assert!(setup.take(SetupInput::Cancel) == [SetupEffect::Abort]);
    assert!(setup.take(SetupInput::Found(first, Ok(offer()))).is_empty());
    assert!(setup.offered().is_none());
    assert!(setup.take(SetupInput::Cancel).is_empty(), "there is nothing to cancel");
    let second = begin_finding(&mut setup);
    assert!(setup.take(SetupInput::Find).is_empty(), "one request at a time");
    let other_key = setup.take(SetupInput::Write(Field::Secret, "other".to_owned()));
    assert!(other_key == [SetupEffect::Abort], "the list would be that of the previous key");
    assert!(setup.take(SetupInput::Found(second, Ok(offer()))).is_empty());
}

#[test]
fn a_test_counts_until_the_settings_change() {
    let mut setup = with_key(Provider::OpenAi);
    write(&mut setup, Field::Model, "gpt");
    write(&mut setup, Field::Name, "GPT");
    let ticket = begin_testing(&mut setup);
    let passed = TestResult::Model(ModelTest {
        ok: true,
        text: "Hello".to_owned(),
        ms: 900,
        error: None,
        tools: TestedToolMode::Native,
        vision: false,
    });
    assert!(setup.take(SetupInput::Tested(ticket, Ok(passed.clone()))) == [SetupEffect::ShowTest]);
    write(&mut setup, Field::Name, "Other");
    assert_eq!(setup.test(), Some(&passed));
    write(&mut setup, Field::Model, "gpt-2");
    assert_eq!(setup.test(), None);
    let ticket = begin_testing(&mut setup);
    assert!(setup.take(SetupInput::Write(Field::Model, "gpt-3".to_owned())) == [SetupEffect::Abort]);
    assert!(setup.take(SetupInput::Tested(ticket, Ok(passed))).is_empty());
    assert_eq!((setup.test(), setup.work()), (None, None));
}

#[test]
fn numbers_are_checked_before_they_are_sent() {
    let mut setup = with_key(Provider::OpenAi);
    focuses(&mut setup, SetupInput::Save, Some(Field::Model));
    write(&mut setup, Field::Model, "gpt");
    assert_eq!(texts(&setup, &[Field::Name]), ["gpt"], "the model's name is offered to users");
    write(&mut setup, Field::Name, "");
    focuses(&mut setup, SetupInput::Save, Some(Field::Name));
    write(&mut setup, Field::Name, " GPT ");
    write(&mut setup, Field::MaxTokens, "many");
    focuses(&mut setup, SetupInput::Save, Some(Field::MaxTokens));
    write(&mut setup, Field::MaxTokens, "4,096");
    write(&mut setup, Field::InputPrice, "0,5");
    focuses(&mut setup, SetupInput::Save, Some(Field::OutputPrice));
    assert_eq!(problem(&setup), Some((Some(Field::OutputPrice), Reason::Field(Fault::OnePrice))));
    write(&mut setup, Field::OutputPrice, "-1");
    focuses(&mut setup, SetupInput::Save, Some(Field::OutputPrice));
    write(&mut setup, Field::OutputPrice, "2");
    write(&mut setup, Field::Vision, "no");
    let effects = setup.take(SetupInput::Save);
    let [SetupEffect::Add(_, sent)] = effects.as_slice() else { panic!("no request") };
    assert_eq!(
        Value::Object(sent.clone()),
        json!({"name": "GPT", "provider": "openai", "model": "gpt", "max_tokens": 4096, "vision": false,
            "input_price": 0.5, "output_price": 2.0, "api_key": "sk-1"})
    );
}

#[test]
fn a_taken_name_is_reported_at_the_name_and_others_above_the_fields() {
    let mut setup = with_key(Provider::OpenAi);
    write(&mut setup, Field::Model, "gpt");
    write(&mut setup, Field::Name, "GPT");
    for (error, field) in [
        (refused(409, "name-taken"), Some(Field::Name)),
        (refused(409, "set-in-file"), Some(Field::Name)),
        (refused(422, "invalid-model"), None),
        (invalid("max_tokens must be a number from 1 to 10."), Some(Field::MaxTokens)),
        (invalid("base_url is wrong."), None),
        (refused(422, "no-secret-key"), None),
        (ApiError::Unreachable, None),
    ] {
        let ticket = begin_adding(&mut setup);
        focuses(&mut setup, SetupInput::Saved(ticket, Err(error.clone())), field);
        assert_eq!(problem(&setup), Some((field, Reason::Request(error))));
    }
    let ticket = begin_adding(&mut setup);
    assert!(setup.take(SetupInput::Saved(ticket, Ok(stored().into()))) == [SetupEffect::Done("Large".to_owned())]);
    assert!(setup.take(SetupInput::Save).is_empty(), "it is stored only once");
}

#[test]
fn a_change_sends_only_what_differs() {
    let mut setup = edited();
    assert!(setup.take(SetupInput::Save) == [SetupEffect::Done("Large".to_owned())], "nothing has changed");
    let mut setup = edited();
    write(&mut setup, Field::MaxTokens, "");
    write(&mut setup, Field::Vision, "yes");
    let effects = setup.take(SetupInput::Save);
    let [SetupEffect::Update(_, name, Some(3), changes)] = effects.as_slice() else { panic!("no request") };
    assert_eq!(name, "Large");
    assert_eq!(Value::Object(changes.clone()), json!({"max_tokens": null, "vision": true}));
    let mut setup = edited();
    write(&mut setup, Field::Secret, "new");
    let effects = setup.take(SetupInput::Save);
    let [SetupEffect::Update(.., changes)] = effects.as_slice() else { panic!("no request") };
    assert_eq!(Value::Object(changes.clone()), json!({"api_key": "new"}));
}

/// Starts the test of the stored model, and returns the changes that it sends.
fn test_stored(setup: &mut Setup) -> Value {
    let effects = setup.take(SetupInput::Test);
    let [SetupEffect::TestStored(_, name, changes)] = effects.as_slice() else { panic!("{} effects", effects.len()) };
    assert_eq!(name, "Large");
    setup.take(SetupInput::Cancel);
    Value::Object(changes.clone())
}

#[test]
fn a_stored_key_is_used_only_with_the_stored_address() {
    let mut setup = edited();
    assert_eq!(test_stored(&mut setup), json!({}));
    write(&mut setup, Field::Model, "larger");
    assert_eq!(test_stored(&mut setup), json!({"model": "larger"}));
    let effects = setup.take(SetupInput::Find);
    let [SetupEffect::Find(_, asked)] = effects.as_slice() else { panic!("{} effects", effects.len()) };
    assert_eq!((asked.name.as_deref(), asked.api_key.as_deref()), (Some("Large"), None));

    let mut elsewhere = stored();
    elsewhere.fields.base_url = Some("http://127.0.0.1:8000/v1".to_owned());
    let mut setup = Setup::new(EntryKind::Model, Some(elsewhere.into()));
    write(&mut setup, Field::Address, "http://127.0.0.1:9000/v1");
    for input in [SetupInput::Find, SetupInput::Test, SetupInput::Save] {
        focuses(&mut setup, input, Some(Field::Secret));
        assert_eq!(problem(&setup), Some((Some(Field::Secret), Reason::Field(Fault::SecretAgain))));
    }
    write(&mut setup, Field::Secret, "again");
    assert_eq!(test_stored(&mut setup), json!({"base_url": "http://127.0.0.1:9000/v1", "api_key": "again"}));
    write(&mut setup, Field::Secret, "");
    write(&mut setup, Field::StoredKey, "remove");
    assert_eq!(test_stored(&mut setup), json!({"base_url": "http://127.0.0.1:9000/v1", "api_key": null}));
}

#[test]
fn a_test_fills_the_fields_that_are_not_set() {
    let tested = |setup: &mut Setup, tools: TestedToolMode, vision: bool| {
        let ticket = begin_testing(setup);
        let test = ModelTest { ok: true, text: "Hello".to_owned(), ms: 900, error: None, tools, vision };
        setup.take(SetupInput::Tested(ticket, Ok(TestResult::Model(test))));
    };
    let fields = [Field::ToolMode, Field::Vision];
    let mut setup = with_key(Provider::OpenAi);
    write(&mut setup, Field::Model, "gpt");
    write(&mut setup, Field::Name, "GPT");
    tested(&mut setup, TestedToolMode::Native, false);
    assert_eq!(texts(&setup, &fields), ["native", "no"]);
    assert!(setup.test().is_some());
    write(&mut setup, Field::Model, "other");
    assert_eq!(texts(&setup, &fields), ["", ""], "it was about the other model");
    tested(&mut setup, TestedToolMode::Unknown, true);
    assert_eq!(texts(&setup, &fields), ["", "yes"]);
    write(&mut setup, Field::Vision, "");
    write(&mut setup, Field::ToolMode, "prompt");
    tested(&mut setup, TestedToolMode::Native, true);
    assert_eq!(texts(&setup, &fields), ["prompt", ""], "the admin chose");
}

#[test]
fn effort_reasoning_tokens_and_quirks_are_changed() {
    let mut setup = edited();
    assert_eq!(texts(&setup, &[Field::ReasoningEffort, Field::Quirks]), ["low", "no_images"]);
    write(&mut setup, Field::ReasoningEffort, "");
    write(&mut setup, Field::ThinkingTokens, "2,048");
    write(&mut setup, Field::Quirks, "no_stop, no_images = false");
    let quirks = json!({"no_images": false, "no_stop": true});
    let expected = json!({"reasoning_effort": null, "thinking_tokens": 2048, "quirks": quirks});
    assert_eq!(test_stored(&mut setup), expected);
}

#[test]
fn a_change_by_another_admin_is_loaded_and_own_changes_stay() {
    let mut setup = edited();
    write(&mut setup, Field::MaxTokens, "100");
    let effects = setup.take(SetupInput::Save);
    let [SetupEffect::Update(ticket, ..)] = effects.as_slice() else { panic!("no request") };
    let effects = setup.take(SetupInput::Saved(*ticket, Err(refused(412, "changed"))));
    let [SetupEffect::Load(ticket, name)] = effects.as_slice() else { panic!("no request") };
    assert_eq!(name, "Large");
    let mut theirs = stored();
    theirs.version = Some(4);
    theirs.fields.model = Some("larger".to_owned());
    theirs.fields.max_tokens = Some(1);
    focuses(&mut setup, SetupInput::Loaded(*ticket, Ok(theirs.into())), None);
    assert_eq!(problem(&setup), Some((None, Reason::Changed)));
    assert_eq!(texts(&setup, &[Field::Model, Field::MaxTokens]), ["larger", "100"]);
    let effects = setup.take(SetupInput::Save);
    let [SetupEffect::Update(_, _, Some(4), changes)] = effects.as_slice() else { panic!("no request") };
    assert_eq!(Value::Object(changes.clone()), json!({"max_tokens": 100}));
}

#[test]
fn stored_settings_are_those_of_the_provider_that_was_chosen() {
    for (provider, address, shown) in [
        ("anthropic", None, Some(Provider::Anthropic)),
        ("openai", None, Some(Provider::OpenAi)),
        ("openai", Some("https://generativelanguage.googleapis.com/v1beta/openai/"), Some(Provider::Gemini)),
        ("openai", Some("http://127.0.0.1:8000/v1"), Some(Provider::Compatible)),
        ("openrouter", None, Some(Provider::OpenRouter)),
        ("ollama", Some("http://gpu:11434/v1"), Some(Provider::Ollama)),
        ("demo", None, None),
    ] {
        let mut model = stored();
        model.fields.provider = provider.to_owned();
        model.fields.base_url = address.map(str::to_owned);
        let setup = Setup::new(EntryKind::Model, Some(model.into()));
        assert_eq!(setup.form().provider(), shown, "{provider}");
    }
}

#[test]
fn the_key_is_not_in_the_debug_output() {
    let setup = with_key(Provider::OpenAi);
    assert!(!format!("{setup:?}").contains("sk-1"));
}
