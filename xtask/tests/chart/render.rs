//! Renders the Helm chart with a Rust port of Go's templates, and finds objects in the result.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use gotmpl::{FuncMap, MissingKey, Template, TemplateError, Value, to_value};
use regex::Regex;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

pub(crate) const SQLITE: &str = "values-sqlite.yaml";
pub(crate) const MYSQL: &str = "values-mysql.yaml";

/// Renders both databases with all options.
pub(crate) fn everything() -> [(&'static str, Vec<Json>); 2] {
    let options = json!({
        "image": {"tag": "1.2.3", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "database": {"volume": {"storageClass": "fast", "accessMode": "ReadWriteOncePod"}},
        "hosts": ["chat.example.org", "book.example.org"],
        "trustedProxies": ["192.0.2.10/32", "2001:db8::1/128"],
        "settings": {"LOG_FORMAT": "json", "OIDC_NAME": "the \"intranet\": ours"},
        "files": {"tallybook.toml": "[agent]\nmax_tool_turns = 5\n", "prompt.txt": "Say {{ this }}:\n\"yes\"\n"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "chat", "operator": "Exists", "effect": "NoSchedule"}],
        "route": {"gateway": {"namespace": "gateways", "listener": "https"}},
        "networkPolicy": {"enabled": true, "namespaces": ["gateways", "prometheus"]},
        "serviceMonitor": {"enabled": true, "labels": {"release": "prometheus"}},
    });
    [SQLITE, MYSQL].map(|file| (file, rendered(file, &options)))
}

pub(crate) fn rendered(file: &str, changes: &Json) -> Vec<Json> {
    render(&values(file, changes)).unwrap_or_else(|error| panic!("{file} with {changes}: {error}"))
}

/// Checks the values against the schema, and renders all objects of the chart.
pub(crate) fn render(values: &Json) -> Result<Vec<Json>, String> {
    let schema = jsonschema::draft7::new(&schema()).unwrap();
    if let Some(error) = schema.iter_errors(values).next() {
        return Err(format!("the schema refuses {}: {error}", error.instance_path()));
    }
    let mut objects = Vec::new();
    for file in fs::read_dir(chart().join("templates")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if Path::new(&name).extension().is_some_and(|extension| extension == "yaml") {
            objects.extend(documents(&execute(&name, values)?));
        }
    }
    Ok(objects)
}

/// Renders one file of the chart, as the release `tallybook` in the namespace `chat`.
pub(crate) fn execute(file: &str, values: &Json) -> Result<String, String> {
    let folder = chart().join("templates");
    let template = Arc::new(OnceLock::<Template>::new());
    let mut functions = functions();
    let all = Arc::downgrade(&template);
    functions.insert(
        "include".to_owned(),
        Arc::new(move |args| {
            let all = all.upgrade().unwrap();
            let text = all.get().unwrap().execute_template_to_string(args[0].as_str().unwrap(), &args[1])?;
            Ok(text.into())
        }),
    );
    // A misspelled value is an error here. Helm would write nothing in its place.
    let mut parsed = Template::new(file).missing_key(MissingKey::Error).funcs(functions);
    for part in ["_helpers.tpl", "_pod.tpl", file] {
        parsed = parsed.parse(&fs::read_to_string(folder.join(part)).unwrap()).unwrap();
    }
    let description = yaml(&read("infra/helm/Chart.yaml"));
    let data = json!({
        "Values": values,
        "Chart": {
            "Name": description["name"],
            "Version": description["version"],
            "AppVersion": description["appVersion"],
        },
        "Release": {"Name": "tallybook", "Namespace": "chat", "Service": "Helm", "IsInstall": true},
    });
    let template = template.get_or_init(|| parsed);
    template.execute_to_string(&to_value(&data).unwrap()).map_err(|error| error.to_string())
}

/// Returns the functions of Helm that the chart uses, except `include`.
fn functions() -> FuncMap {
    type Function = fn(&[Value]) -> Result<Value, TemplateError>;
    let functions: [(&str, Function); 17] = [
        ("add", |args| Ok(Value::Int(args.iter().filter_map(Value::as_int).sum()))),
        ("default", |args| Ok(if args[1].is_truthy() { args[1].clone() } else { args[0].clone() })),
        ("fail", |args| Err(TemplateError::Exec(args[0].to_string()))),
        ("first", |args| args[0].index(&Value::Int(0))),
        ("has", |args| Ok(Value::Bool(list(&args[1]).contains(&args[0])))),
        ("hasKey", |args| Ok(Value::Bool(args[0].field(args[1].as_str().unwrap()).is_some()))),
        ("int", |args| Ok(Value::Int(args[0].as_int().unwrap()))),
        ("join", |args| {
            let texts: Vec<_> = list(&args[1]).iter().map(ToString::to_string).collect();
            Ok(texts.join(args[0].as_str().unwrap()).into())
        }),
        ("list", |args| Ok(args.to_vec().into())),
        ("nindent", |args| {
            let line = format!("\n{}", " ".repeat(args[0].as_int().unwrap().try_into().unwrap()));
            Ok((line.clone() + &args[1].as_str().unwrap().replace('\n', &line)).into())
        }),
        ("quote", |args| Ok(Json::from(args[0].to_string()).to_string().into())),
        ("regexMatch", |args| {
            let pattern = Regex::new(args[0].as_str().unwrap()).unwrap();
            Ok(Value::Bool(pattern.is_match(args[1].as_str().unwrap())))
        }),
        ("replace", |args| {
            let [old, new, text] = [0, 1, 2].map(|at| args[at].as_str().unwrap());
            Ok(text.replace(old, new).into())
        }),
        ("required", |args| {
            if args[1].is_truthy() { Ok(args[1].clone()) } else { Err(TemplateError::Exec(args[0].to_string())) }
        }),
        ("sha256sum", |args| Ok(hex::encode(Sha256::digest(args[0].as_str().unwrap())).into())),
        ("toJson", |args| Ok(to_json(&args[0]).to_string().into())),
        ("toYaml", |args| Ok(serde_saphyr::to_string(&to_json(&args[0])).unwrap().trim_end().into())),
    ];
    functions.into_iter().map(|(name, function)| (name.to_owned(), Arc::new(function) as _)).collect()
}

fn list(value: &Value) -> &[Value] {
    let Value::List(values) = value else { panic!("{value} is not a list") };
    values
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil | Value::Function(_) => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Uint(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::String(value) => json!(&**value),
        Value::List(values) => values.iter().map(to_json).collect(),
        Value::Map(values) => values.iter().map(|(name, value)| (name.to_string(), to_json(value))).collect(),
    }
}

/// Returns the values with which Helm renders: those of values.yaml, changed by a file and then by `changes`.
pub(crate) fn values(file: &str, changes: &Json) -> Json {
    fn merge(into: &mut Json, from: &Json) {
        match (into, from) {
            (Json::Object(into), Json::Object(from)) => {
                for (name, value) in from {
                    merge(into.entry(name.clone()).or_insert(Json::Null), value);
                }
            }
            (into, from) => *into = from.clone(),
        }
    }
    let mut values = yaml(&fs::read_to_string(chart().join("values.yaml")).unwrap());
    merge(&mut values, &yaml(&fs::read_to_string(chart().join(file)).unwrap()));
    merge(&mut values, changes);
    values
}

pub(crate) fn schema() -> Json {
    serde_json::from_str(&read("infra/helm/values.schema.json")).unwrap()
}

/// Returns the variables of the container that have a value in the `ConfigMap` or in the pod.
pub(crate) fn environment(objects: &[Json]) -> BTreeMap<String, String> {
    let text = |value: &Json| value.as_str().unwrap_or_else(|| panic!("{value} is not a text")).to_owned();
    let settings = find(objects, "ConfigMap")["data"].as_object().unwrap();
    let mut variables: BTreeMap<_, _> = settings.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    for variable in container(objects)["env"].as_array().into_iter().flatten() {
        variables.insert(text(&variable["name"]), text(&variable["value"]));
    }
    variables
}

/// Returns the object, with the label of the plain manifests in place of the chart's labels.
pub(crate) fn with_plain_labels(object: &Json) -> Json {
    match object {
        Json::Object(fields) => {
            let is_own = |name: &str| name.starts_with("app.kubernetes.io/") || name.starts_with("helm.sh/");
            let kept = fields.iter().filter(|(name, _)| !is_own(name));
            let mut fields: serde_json::Map<_, _> =
                kept.map(|(name, value)| (name.clone(), with_plain_labels(value))).collect();
            if object.get("app.kubernetes.io/name").is_some() {
                fields.insert("app".to_owned(), json!("tallybook"));
            }
            Json::Object(fields)
        }
        Json::Array(entries) => entries.iter().map(with_plain_labels).collect(),
        other => other.clone(),
    }
}

/// Asserts that `whole` has every field of `part`, with the same value.
pub(crate) fn assert_contains(whole: &Json, part: &Json, path: &str) {
    match (whole, part) {
        (Json::Object(whole), Json::Object(part)) => {
            for (name, value) in part {
                let path = format!("{path}.{name}");
                let found = whole.get(name).unwrap_or_else(|| panic!("the chart has no {path}"));
                assert_contains(found, value, &path);
            }
        }
        (Json::Array(whole), Json::Array(part)) => {
            assert_eq!(whole.len(), part.len(), "{path}");
            for (at, (whole, part)) in whole.iter().zip(part).enumerate() {
                assert_contains(whole, part, &format!("{path}[{at}]"));
            }
        }
        _ => assert_eq!(whole, part, "{path}"),
    }
}

pub(crate) fn kinds(objects: &[Json]) -> Vec<&str> {
    let mut kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds
}

pub(crate) fn find<'a>(objects: &'a [Json], kind: &str) -> &'a Json {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("there is no {kind}"))
}

pub(crate) fn workload(objects: &[Json]) -> &Json {
    objects.iter().find(|object| object["kind"] == "Deployment" || object["kind"] == "StatefulSet").unwrap()
}

pub(crate) fn pod(objects: &[Json]) -> &Json {
    &workload(objects)["spec"]["template"]
}

pub(crate) fn container(objects: &[Json]) -> &Json {
    &pod(objects)["spec"]["containers"][0]
}

pub(crate) fn yaml(text: &str) -> Json {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the documents of a YAML file, without those that contain only comments.
pub(crate) fn documents(text: &str) -> Vec<Json> {
    let documents: Vec<Json> = serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

pub(crate) fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/helm")
}

pub(crate) fn read(file: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()))
}
