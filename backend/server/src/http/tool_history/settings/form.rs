//! The fields of the settings form: their values, and the changes that an admin makes with them. A field that the
//! settings file or the environment sets is disabled, so browsers do not send it.

use serde_json::{Map, Value, json};
use tallybook_protocol::{CurrentServerSettings, ServerSettings};

use super::super::{form_values::FormValues, i18n::Messages};

/// A group of fields.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) fields: Vec<Field>,
}

/// A field with its value.
pub(crate) struct Field {
    /// Name in the form: the path of the value in the settings.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) hint: Option<&'static str>,
    pub(crate) control: Control,
    /// `true` if the settings file or the environment sets the value.
    pub(crate) is_fixed: bool,
    /// Name of the setting if admins have changed it, so that it has a default to return to. Only on the first field of
    /// a setting.
    pub(crate) changed: Option<&'static str>,
}

/// The way in which a value is edited.
pub(crate) enum Control {
    /// A check box.
    Switch(bool),
    /// A number. `step` is `any` if it may have a fraction.
    Number { value: String, step: &'static str, is_required: bool },
    /// A list of which one entry is chosen.
    List(Vec<Choice>),
    /// A list of which several entries are chosen.
    Checks(Vec<Choice>),
    /// A long text.
    Text(String),
}

/// An entry of a list.
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
    pub(crate) is_chosen: bool,
}

/// The names of the models that can be chosen.
pub(crate) struct ModelNames {
    pub(crate) all: Vec<String>,
    /// Models that can write summaries and plans.
    pub(crate) writers: Vec<String>,
    /// Models that can review calls.
    pub(crate) reviewers: Vec<String>,
}

/// The kind of a field's value.
#[derive(Clone, Copy)]
enum Kind {
    Switch,
    Whole,
    /// A whole number, or nothing for the default.
    WholeOrNone,
    Decimal,
    /// The name of a model, or nothing for the default.
    Model,
    /// Names of models.
    Models,
    SignUp,
    ReviewMode,
    Text,
}

struct Spec {
    /// Path of the value in the settings.
    name: &'static str,
    kind: Kind,
    label: fn(Messages) -> &'static str,
    hint: Option<fn(Messages) -> &'static str>,
}

const fn spec(
    name: &'static str,
    kind: Kind,
    label: fn(Messages) -> &'static str,
    hint: Option<fn(Messages) -> &'static str>,
) -> Spec {
    Spec { name, kind, label, hint }
}

type Title = fn(Messages) -> &'static str;

/// The fields in groups, in the order of the page.
const GROUPS: [(Title, &[Spec]); 7] = [
    (
        Messages::settings_answers,
        &[
            spec("default_model", Kind::Model, Messages::default_model, Some(Messages::default_model_hint)),
            spec("instructions", Kind::Text, Messages::shared_instructions, Some(Messages::shared_instructions_hint)),
            spec("llm_titles", Kind::Switch, Messages::llm_titles, None),
        ],
    ),
    (
        Messages::settings_people,
        &[
            spec("sign_up", Kind::SignUp, Messages::sign_up_policy, None),
            spec("sharing", Kind::Switch, Messages::sharing, None),
        ],
    ),
    (
        Messages::settings_limits,
        &[
            spec("max_turns_per_person", Kind::Whole, Messages::max_turns, Some(Messages::zero_is_no_limit)),
            spec("max_messages_per_minute", Kind::Whole, Messages::max_messages, Some(Messages::zero_is_no_limit)),
            spec("max_tokens_per_day", Kind::Whole, Messages::max_tokens, Some(Messages::zero_is_no_limit)),
        ],
    ),
    (
        Messages::settings_approvals,
        &[
            spec("consent_wait_hours", Kind::Decimal, Messages::approval_timeout, Some(Messages::zero_is_no_timeout)),
            spec("review.models", Kind::Models, Messages::reviewers, Some(Messages::reviewers_hint)),
            spec("review.mode", Kind::ReviewMode, Messages::review_mode, None),
            spec("review.quorum", Kind::WholeOrNone, Messages::review_quorum, Some(Messages::review_quorum_hint)),
            spec(
                "review.timeout_secs",
                Kind::WholeOrNone,
                Messages::review_timeout,
                Some(Messages::review_timeout_hint),
            ),
        ],
    ),
    (
        Messages::settings_summaries,
        &[
            spec("memory.max_chars", Kind::Whole, Messages::summary_chars, Some(Messages::summary_chars_hint)),
            spec("memory.after_tokens", Kind::WholeOrNone, Messages::summary_after, Some(Messages::summary_after_hint)),
            spec("memory.summary_model", Kind::Model, Messages::summary_model, None),
        ],
    ),
    (
        Messages::settings_plans,
        &[
            spec("plan.planner_model", Kind::Model, Messages::planner_model, None),
            spec("plan.max_attempts", Kind::Whole, Messages::plan_attempts, None),
            spec("plan.max_total_attempts", Kind::Whole, Messages::plan_total_attempts, None),
        ],
    ),
    (
        Messages::settings_retention,
        &[spec("retention_days", Kind::Decimal, Messages::retention_days, Some(Messages::retention_days_hint))],
    ),
];

impl Spec {
    /// Returns the name of the setting that the value belongs to.
    fn setting(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(setting, _)| setting)
    }

    /// Returns `true` for the first field of a setting.
    fn is_first(&self) -> bool {
        let mut specs = GROUPS.iter().flat_map(|(_, specs)| specs.iter());
        specs.find(|spec| spec.setting() == self.setting()).is_some_and(|spec| spec.name == self.name)
    }

    /// Returns the value in the settings; null if it is missing.
    fn value_in<'a>(&self, settings: &'a Value) -> &'a Value {
        self.name.split('.').fold(settings, |value, member| &value[member])
    }

    fn is_shown(&self, has_accounts: bool) -> bool {
        has_accounts || !matches!(self.kind, Kind::SignUp)
    }

    fn control(&self, value: &Value, models: &ModelNames, texts: Messages) -> Control {
        let text = value.as_str().unwrap_or_default();
        let shown = || match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            // A whole number of days is shown without a fraction.
            value => value.to_string().trim_end_matches(".0").to_owned(),
        };
        let choice = |value: &str, label: &str, is_chosen: bool| Choice {
            value: value.to_owned(),
            label: label.to_owned(),
            is_chosen,
        };
        match self.kind {
            Kind::Switch => Control::Switch(value == true),
            Kind::Whole => Control::Number { value: shown(), step: "1", is_required: true },
            Kind::WholeOrNone => Control::Number { value: shown(), step: "1", is_required: false },
            Kind::Decimal => Control::Number { value: shown(), step: "any", is_required: true },
            Kind::Text => Control::Text(text.to_owned()),
            Kind::Model => {
                let (models, default) = match self.name {
                    "default_model" => (&models.all, texts.first_model()),
                    _ => (&models.writers, texts.answering_model()),
                };
                // A model that was removed stays visible until another is chosen.
                let removed = (!text.is_empty() && !models.iter().any(|name| name == text)).then_some(text);
                let names = models.iter().map(String::as_str).chain(removed);
                let choices = names.map(|name| choice(name, name, name == text));
                Control::List(std::iter::once(choice("", default, text.is_empty())).chain(choices).collect())
            }
            Kind::Models => {
                let chosen: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let models = &models.reviewers;
                let removed = chosen.iter().copied().filter(|name| !models.iter().any(|model| model == name));
                let names = models.iter().map(String::as_str).chain(removed);
                Control::Checks(names.map(|name| choice(name, name, chosen.contains(&name))).collect())
            }
            Kind::SignUp => {
                let policies = ["open", "invitation", "closed"];
                Control::List(policies.map(|name| choice(name, texts.sign_up_named(name), name == text)).into())
            }
            Kind::ReviewMode => {
                let decides = text == "decide";
                let choices = [
                    choice("advise", texts.review_advises(), !decides),
                    choice("decide", texts.review_decides(), decides),
                ];
                Control::List(choices.into())
            }
        }
    }
}

/// Returns the fields with their current values, or with those that were entered.
pub(crate) fn groups(
    current: &CurrentServerSettings,
    entered: Option<&Values>,
    models: &ModelNames,
    has_accounts: bool,
    texts: Messages,
) -> Vec<Group> {
    let mut settings = current.settings.to_map();
    let edited = entered.map(|values| values.patch(current, has_accounts)).unwrap_or_default();
    // The default of a setting is not known here, so it keeps its value on a page that shows why it was not changed.
    let keeps_value = |name: &str| entered.is_some_and(|values| values.0.first("default") == Some(name));
    settings.extend(edited.into_iter().filter(|(name, _)| !keeps_value(name)));
    let settings = Value::Object(settings);
    let field = |spec: &Spec| {
        let contains = |names: &[String]| names.iter().any(|name| name == spec.setting());
        Field {
            name: spec.name,
            label: (spec.label)(texts),
            hint: spec.hint.map(|hint| hint(texts)),
            control: spec.control(spec.value_in(&settings), models, texts),
            is_fixed: contains(&current.set_in_file),
            changed: Some(spec.setting()).filter(|_| spec.is_first() && contains(&current.changed)),
        }
    };
    let group = |(title, specs): &(Title, &[Spec])| Group {
        title: title(texts),
        fields: specs.iter().filter(|spec| spec.is_shown(has_accounts)).map(field).collect(),
    };
    GROUPS.iter().map(group).collect()
}

/// The fields that a browser sent.
pub(crate) struct Values(FormValues);

impl Values {
    pub(crate) fn new(fields: Vec<(String, String)>) -> Self {
        Self(FormValues::new(fields))
    }

    /// Returns the version of the settings that the form showed.
    pub(crate) fn version(&self) -> i64 {
        self.0.version()
    }

    /// Returns the change: the settings to which the admin gave another value than the form showed, so that the change
    /// of another admin is not undone.
    pub(crate) fn patch(&self, current: &CurrentServerSettings, has_accounts: bool) -> Map<String, Value> {
        let shown = self.0.shown::<ServerSettings>();
        let shown = shown.as_ref().unwrap_or(&current.settings).to_map();
        let mut entered = Value::Object(shown.clone());
        let has_reviewers = self.0.first("review.models").is_some();
        let is_fixed = |setting: &str| current.set_in_file.iter().any(|name| name == setting);
        if !has_reviewers && !is_fixed("review") {
            entered["review"] = Value::Null;
        }
        let specs = GROUPS.iter().flat_map(|(_, specs)| specs.iter());
        for spec in specs.filter(|spec| spec.is_shown(has_accounts) && !is_fixed(spec.setting())) {
            match spec.name.split_once('.') {
                Some(("review", _)) if !has_reviewers => {}
                Some((setting, member)) => entered[setting][member] = self.value_of(spec),
                None => entered[spec.name] = self.value_of(spec),
            }
        }
        let mut entered = match entered {
            Value::Object(entered) => entered,
            _ => Map::new(),
        };
        // The check boxes are in the order of the models, and not in that of the setting.
        let sorted = |names: &Value| {
            let mut names: Vec<Value> = names.as_array().cloned().unwrap_or_default();
            names.sort_by_key(Value::to_string);
            names
        };
        if let (Some(before), Some(after)) = (shown.get("review"), entered.get_mut("review"))
            && after.is_object()
            && sorted(&before["models"]) == sorted(&after["models"])
        {
            after["models"] = before["models"].clone();
        }
        entered.retain(|name, value| shown.get(name) != Some(value));
        // The button of a setting's default gives it the default, and saves what else was edited.
        if let Some(name) = self.0.first("default") {
            entered.insert(name.to_owned(), Value::Null);
        }
        entered
    }

    /// Returns the value of a field. A text that does not have the type of the value stays a text, which the settings
    /// then refuse.
    fn value_of(&self, spec: &Spec) -> Value {
        let text = self.0.first(spec.name).unwrap_or_default().trim();
        match spec.kind {
            Kind::Switch => json!(self.0.first(spec.name).is_some()),
            Kind::WholeOrNone | Kind::Model if text.is_empty() => Value::Null,
            Kind::Whole | Kind::WholeOrNone => text.parse::<u64>().map_or_else(|_| json!(text), |number| json!(number)),
            Kind::Decimal => text
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .map_or_else(|| json!(text), |number| json!(number)),
            Kind::Models => self.0.all(spec.name).map(Value::from).collect(),
            // Browsers send line breaks of a text as two characters.
            Kind::Text => json!(text.replace("\r\n", "\n")),
            Kind::Model | Kind::SignUp | Kind::ReviewMode => json!(text),
        }
    }
}
