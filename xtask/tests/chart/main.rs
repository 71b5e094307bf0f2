//! Renders the Helm chart and tests the result: the objects fit together, and they agree with `infra/kubernetes` and
//! with the documents.

#![allow(clippy::unwrap_used, reason = "helpers of tests report failures by panicking, too")]

mod render;
mod schemas;

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Value as Json, json};

use self::render::{
    MYSQL, SQLITE, assert_contains, container, documents, environment, everything, execute, find, kinds, pod, read,
    render, rendered, schema, values, with_plain_labels, workload, yaml,
};

#[test]
fn each_database_has_its_objects() {
    let sqlite = ["ConfigMap", "HTTPRoute", "PersistentVolumeClaim", "Service", "StatefulSet"];
    assert_eq!(kinds(&rendered(SQLITE, &json!({}))), sqlite);
    let mysql = ["ConfigMap", "Deployment", "HTTPRoute", "PodDisruptionBudget", "Service"];
    assert_eq!(kinds(&rendered(MYSQL, &json!({}))), mysql);
    let one_replica = rendered(MYSQL, &json!({"replicas": 1}));
    assert_eq!(kinds(&one_replica), ["ConfigMap", "Deployment", "HTTPRoute", "Service"]);
    let own_volume = rendered(SQLITE, &json!({"database": {"volume": {"existingClaim": "mine"}}}));
    assert!(!kinds(&own_volume).contains(&"PersistentVolumeClaim"));
    assert_eq!(pod(&own_volume)["spec"]["volumes"][1]["persistentVolumeClaim"]["claimName"], "mine");
}

#[test]
fn an_image_is_enough_for_a_first_try() {
    let objects = rendered("values.yaml", &json!({"image": {"repository": "registry.example.org/tallybook"}}));
    assert_eq!(kinds(&objects), ["ConfigMap", "PersistentVolumeClaim", "Service", "StatefulSet"]);
    let settings =
        json!({"HOST": "0.0.0.0", "PORT": "3000", "ALLOWED_HOSTS": "localhost", "SHUTDOWN_GRACE_SECS": "45"});
    assert_eq!(find(&objects, "ConfigMap")["data"], settings);
}

#[test]
fn every_option_adds_its_objects() {
    for (name, objects) in everything() {
        for kind in ["ConfigMap", "HTTPRoute", "NetworkPolicy", "Service", "ServiceMonitor"] {
            assert!(kinds(&objects).contains(&kind), "{name} has no {kind}");
        }
        let route = &find(&objects, "HTTPRoute")["spec"];
        assert_eq!(route["parentRefs"], json!([{"name": "public", "namespace": "gateways", "sectionName": "https"}]));
        assert_eq!(route["hostnames"], json!(["chat.example.org", "book.example.org"]));
        let pod = &pod(&objects)["spec"];
        assert_eq!(pod["containers"][0]["image"], "registry.example.org/tallybook:1.2.3");
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry"}]));
        assert_eq!((&pod["nodeSelector"]["disk"], &pod["tolerations"][0]["key"]), (&json!("ssd"), &json!("chat")));
        assert_eq!(find(&objects, "ServiceMonitor")["metadata"]["labels"]["release"], "prometheus");
        let files = objects.iter().find(|object| object["metadata"]["name"] == "tallybook-files").unwrap();
        assert_eq!(files["data"]["prompt.txt"], "Say {{ this }}:\n\"yes\"\n", "templates do not change files");
    }
}

#[test]
fn names_are_unique_and_begin_with_the_release() {
    for (file, objects) in everything() {
        let names: BTreeSet<_> = objects.iter().map(|o| (o["kind"].as_str(), o["metadata"]["name"].as_str())).collect();
        assert_eq!(names.len(), objects.len(), "{file}: {names:?}");
        assert!(names.iter().all(|(_, name)| name.unwrap().starts_with("tallybook")), "{file}: {names:?}");
    }
}

#[test]
fn selectors_match_the_pods() {
    for (file, objects) in everything() {
        let (workload, pod) = (workload(&objects), pod(&objects));
        let labels = &pod["metadata"]["labels"];
        let selected = |selector: &Json, labels: &Json| {
            let selector = selector.as_object().unwrap();
            !selector.is_empty() && selector.iter().all(|(name, value)| labels[name] == *value)
        };
        assert!(selected(&workload["spec"]["selector"]["matchLabels"], labels), "{file}: {workload}");
        let service = find(&objects, "Service");
        assert!(selected(&service["spec"]["selector"], labels), "{file}: {service}");
        let policy = find(&objects, "NetworkPolicy");
        assert!(selected(&policy["spec"]["podSelector"]["matchLabels"], labels), "{file}: {policy}");
        let monitor = find(&objects, "ServiceMonitor");
        assert!(selected(&monitor["spec"]["selector"]["matchLabels"], &service["metadata"]["labels"]), "{file}");
        for budget in objects.iter().filter(|object| object["kind"] == "PodDisruptionBudget") {
            assert!(selected(&budget["spec"]["selector"]["matchLabels"], labels), "{file}: {budget}");
        }
    }
}

#[test]
fn ports_lead_to_the_server() {
    for (file, objects) in everything() {
        let port = &container(&objects)["ports"][0];
        assert_eq!(port["containerPort"].to_string(), find(&objects, "ConfigMap")["data"]["PORT"], "{file}");
        let service = &find(&objects, "Service")["spec"]["ports"][0];
        assert_eq!(service["targetPort"], port["name"], "{file}");
        assert_eq!(
            find(&objects, "HTTPRoute")["spec"]["rules"][0]["backendRefs"][0]["port"],
            service["port"],
            "{file}"
        );
        assert_eq!(find(&objects, "ServiceMonitor")["spec"]["endpoints"][0]["port"], service["name"], "{file}");
        assert_eq!(find(&objects, "NetworkPolicy")["spec"]["ingress"][0]["ports"][0]["port"], port["name"], "{file}");
    }
}

#[test]
fn a_pod_refers_only_to_objects_that_exist() {
    for (file, objects) in everything() {
        let (pod, container) = (pod(&objects), container(&objects));
        let names = |list: &Json| -> BTreeSet<String> {
            list.as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&container["volumeMounts"]), names(&pod["spec"]["volumes"]), "{file}");
        let exists =
            |kind: &str, name: &Json| objects.iter().any(|o| o["kind"] == kind && o["metadata"]["name"] == *name);
        assert!(exists("ConfigMap", &container["envFrom"][0]["configMapRef"]["name"]), "{file}");
        assert_eq!(container["envFrom"][1]["secretRef"]["name"], "tallybook", "{file}");
        for volume in pod["spec"]["volumes"].as_array().unwrap() {
            if let Some(map) = volume.get("configMap") {
                assert!(exists("ConfigMap", &map["name"]), "{file}: {volume}");
            }
            if let Some(claim) = volume.get("persistentVolumeClaim") {
                assert!(exists("PersistentVolumeClaim", &claim["claimName"]), "{file}: {volume}");
            }
        }
    }
}

#[test]
fn pods_have_no_unneeded_permissions() {
    for (file, objects) in everything() {
        let pod = &pod(&objects)["spec"];
        assert_eq!(pod["automountServiceAccountToken"], false, "{file}");
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{file}");
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", "{file}");
        let rights = json!({
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]},
        });
        assert_eq!(pod["containers"].as_array().unwrap().len(), 1, "{file}");
        assert_eq!(pod["containers"][0]["securityContext"], rights, "{file}");
    }
}

#[test]
fn the_embedded_database_is_on_a_volume_that_one_pod_uses() {
    let objects = rendered(SQLITE, &json!({"user": 65532}));
    let pod = pod(&objects);
    assert_eq!(workload(&objects)["spec"]["replicas"], 1);
    let user = &pod["spec"]["securityContext"];
    assert_eq!((&user["runAsUser"], &user["fsGroup"]), (&json!(65532), &json!(65532)), "the user can write");
    let url = environment(&objects).remove("DATABASE_URL").unwrap();
    let mounts = pod["spec"]["containers"][0]["volumeMounts"].as_array().unwrap();
    let mount = mounts.iter().find(|mount| mount["name"] == "data").unwrap()["mountPath"].as_str().unwrap();
    assert!(url.strip_prefix("sqlite://").unwrap().starts_with(&format!("{mount}/")), "{url}");
    let image = read("infra/Dockerfile");
    assert!(image.lines().any(|line| line == format!("VOLUME {mount}")), "the image has its data in {mount}");
    let claim = find(&objects, "PersistentVolumeClaim");
    assert_eq!(claim["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
}

#[test]
fn the_image_runs_as_the_user_of_the_values() {
    let values = values("values.yaml", &json!({}));
    assert!(read("infra/Dockerfile").contains(&format!("--uid {} ", values["user"])));
}

/// The plain manifests have the same objects for MySQL. Only labels differ.
#[test]
fn the_chart_agrees_with_the_plain_manifests() {
    let options = json!({"networkPolicy": {"enabled": true}, "serviceMonitor": {"enabled": true}});
    let chart: Vec<_> = rendered(MYSQL, &options).iter().map(with_plain_labels).collect();
    let plain = ["infra/kubernetes/tallybook.yaml", "infra/kubernetes/monitoring.yaml"];
    let plain: Vec<_> = plain.iter().flat_map(|file| documents(&read(file))).collect();
    assert_eq!(kinds(&chart), kinds(&plain));
    for object in &plain {
        let kind = object["kind"].as_str().unwrap();
        assert_contains(find(&chart, kind), object, kind);
    }
}

#[test]
fn both_databases_have_the_same_container() {
    let mysql = container(&rendered(MYSQL, &json!({}))).clone();
    let sqlite = container(&rendered(SQLITE, &json!({}))).clone();
    for (name, value) in mysql.as_object().unwrap().iter().filter(|(name, _)| *name != "volumeMounts") {
        assert_eq!(sqlite[name], *value, "{name}");
    }
}

#[test]
fn running_answers_have_time_to_finish() {
    for secs in [0, 45, 300] {
        let objects = rendered(MYSQL, &json!({"shutdownGraceSecs": secs}));
        assert_eq!(environment(&objects)["SHUTDOWN_GRACE_SECS"], secs.to_string());
        let pause = container(&objects)["lifecycle"]["preStop"]["sleep"]["seconds"].as_i64().unwrap();
        let limit = pod(&objects)["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap();
        assert!(limit > pause + secs, "{limit}");
    }
}

#[test]
fn the_server_answers_to_every_host_of_the_values() {
    for (file, objects) in everything() {
        assert_eq!(environment(&objects)["ALLOWED_HOSTS"], "chat.example.org,book.example.org", "{file}");
    }
}

#[test]
fn links_begin_with_the_first_host() {
    let public_url = |changes: &Json| environment(&rendered(SQLITE, changes)).remove("PUBLIC_URL");
    assert_eq!(public_url(&json!({})).as_deref(), Some("https://book.example.org"));
    let own = json!({"settings": {"PUBLIC_URL": "https://chat.example.org:8443"}});
    assert_eq!(public_url(&own).as_deref(), Some("https://chat.example.org:8443"));
    assert_eq!(public_url(&json!({"hosts": [], "route": {"enabled": false}})), None);
}

#[test]
fn a_changed_setting_replaces_the_pods() {
    let template = |changes: &Json| pod(&rendered(MYSQL, changes)).clone();
    let unchanged = template(&json!({}));
    assert_eq!(template(&json!({"replicas": 5})), unchanged);
    assert_ne!(template(&json!({"settings": {"LOG_FORMAT": "json"}})), unchanged);
    let file = template(&json!({"files": {"a.toml": "1"}}));
    assert_ne!(template(&json!({"files": {"a.toml": "2"}})), file);
}

#[test]
fn every_variable_is_a_documented_setting() {
    let table = read("docs/reference/configuration.md");
    let (table, _) = table.split_once("\n## Settings file\n").unwrap();
    let mut used = BTreeSet::from(["CONFIG_FILE".to_owned()]);
    for (_, objects) in everything() {
        used.extend(environment(&objects).into_keys());
    }
    assert!(used.len() > 8, "{used:?}");
    for name in used {
        assert!(table.contains(&format!("`{name}`")), "{name} is not in docs/reference/configuration.md");
    }
}

#[test]
fn contradictions_fail_with_an_explanation() {
    let more_replicas =
        "Only one server can use the embedded database. Set `replicas` to 1, or `database.kind` to mysql.";
    let no_secret = "MySQL needs a Secret with DATABASE_URL. Create it, and set `secretName` to its name.";
    let secret = "is a secret. Put it into the Secret that `secretName` names.";
    for (file, changes, expected) in [
        (SQLITE, json!({"replicas": 3}), more_replicas),
        (MYSQL, json!({"secretName": ""}), no_secret),
        (MYSQL, json!({"image": {"repository": ""}}), "Set `image.repository` to the image in your registry."),
        (MYSQL, json!({"hosts": []}), "A route needs a host name. Add it to `hosts`."),
        (MYSQL, json!({"route": {"gateway": {"name": ""}}}), "Set `route.gateway.name` to the name of your Gateway."),
        (MYSQL, json!({"settings": {"PORT": "80"}}), "The chart sets PORT. Remove it from `settings`"),
        (MYSQL, json!({"settings": {"DATABASE_URL": "mysql://…"}}), secret),
        (MYSQL, json!({"settings": {"LLM_API_KEY": "sk-…"}}), secret),
        (SQLITE, json!({"settings": {"OIDC_CLIENT_SECRET": "…"}}), secret),
    ] {
        let error = render(&values(file, &changes)).unwrap_err();
        assert!(error.contains(expected), "{changes}: {error}");
    }
}

#[test]
fn the_schema_refuses_wrong_values() {
    for changes in [
        json!({"replica": 3}),
        json!({"replicas": 0}),
        json!({"replicas": "3"}),
        json!({"database": {"kind": "postgres"}}),
        json!({"database": {"volume": {"accessMode": "ReadWriteMany"}}}),
        json!({"hosts": ["https://chat.example.org"]}),
        json!({"hosts": ["chat.example.org:443"]}),
        json!({"trustedProxies": ["gateway"]}),
        json!({"settings": {"LOG_FORMAT": true}}),
        // Helm would write this number as 1e+06.
        json!({"settings": {"MAX_TOKENS_PER_DAY": 1_000_000}}),
        json!({"settings": {"log-format": "json"}}),
        json!({"files": {"../etc": ""}}),
        // Without a namespace, the policy would allow all.
        json!({"networkPolicy": {"namespaces": []}}),
        json!({"image": {"pullPolicy": "always"}}),
    ] {
        let error = render(&values(SQLITE, &changes)).unwrap_err();
        assert!(error.starts_with("the schema refuses"), "{changes}: {error}");
    }
}

#[test]
fn the_schema_describes_every_value() {
    fn compare(values: &Json, schema: &Json, path: &str) {
        let (Some(values), Some(described)) = (values.as_object(), schema["properties"].as_object()) else { return };
        assert_eq!(schema["additionalProperties"], false, "{path} allows unknown values");
        // Helm adds `global` if the chart is a part of another one.
        let described_names: BTreeSet<_> = described.keys().filter(|name| *name != "global").collect();
        let names: BTreeSet<_> = values.keys().collect();
        // Helm would merge default entries into those of the user.
        assert!(path == "/resources" || names == described_names, "{path}: {names:?}, {described_names:?}");
        for (name, value) in values {
            compare(value, &described[name], &format!("{path}/{name}"));
        }
    }
    compare(&values("values.yaml", &json!({})), &schema(), "");
}

#[test]
fn the_examples_trust_no_range_of_proxies() {
    for file in [SQLITE, MYSQL] {
        let proxies = environment(&rendered(file, &json!({}))).remove("TRUSTED_PROXIES").unwrap();
        assert!(proxies.split(',').all(|proxy| proxy.ends_with("/32") || proxy.ends_with("/128")), "{file}: {proxies}");
    }
}

#[test]
fn the_notes_have_commands_for_the_installed_objects() {
    for (file, workload) in [(SQLITE, "statefulset/tallybook"), (MYSQL, "deployment/tallybook")] {
        let notes = execute("NOTES.txt", &values(file, &json!({}))).unwrap();
        let command = format!("kubectl exec -it --namespace chat {workload} -- tallybook admin create ada");
        assert!(notes.contains(&command) && notes.contains("https://book.example.org"), "{notes}");
        assert!(!notes.contains("Warning:") && !notes.contains("port-forward"), "{notes}");
    }
    let first_try = execute("NOTES.txt", &values("values.yaml", &json!({}))).unwrap();
    assert!(first_try.contains("kubectl port-forward --namespace chat statefulset/tallybook 3000:3000"), "{first_try}");
    let options = json!({"trustedProxies": [], "serviceMonitor": {"enabled": true}});
    let notes = execute("NOTES.txt", &values(MYSQL, &options)).unwrap();
    assert!(notes.contains("Warning: `trustedProxies` is empty"), "{notes}");
    assert!(notes.contains("kubectl create secret generic tallybook-metrics --namespace chat"), "{notes}");
}

#[test]
fn the_chart_installs_the_version_of_the_workspace() {
    let workspace: toml::Table = read("Cargo.toml").parse().unwrap();
    let version = workspace["workspace"]["package"]["version"].as_str().unwrap();
    let chart = yaml(&read("infra/helm/Chart.yaml"));
    assert_eq!((chart["apiVersion"].as_str(), chart["name"].as_str()), (Some("v2"), Some("tallybook")));
    assert_eq!(chart["appVersion"], version);
    let image = format!("registry.example.org/tallybook:{version}");
    assert_eq!(container(&rendered(MYSQL, &json!({})))["image"], image);
}

#[test]
fn documents_set_only_values_that_exist() {
    let option = Regex::new(r"--set(?:-string|-file)? '?([\w.\\]+)=").unwrap();
    let known = values("values.yaml", &json!({}));
    let exists = |path: &str| {
        let mut value = &known;
        for name in path.split('.') {
            // An empty map can have any entry.
            if *value == json!({}) {
                return true;
            }
            let Some(entry) = value.get(name) else { return false };
            value = entry;
        }
        true
    };
    for file in ["docs/how-to/install.md", "infra/helm/values.yaml"] {
        let text = read(file);
        let paths: Vec<_> = option.captures_iter(&text).map(|found| found.extract::<1>().1[0]).collect();
        assert!(!paths.is_empty(), "{file}");
        for path in paths {
            assert!(exists(path), "{file} sets {path}");
        }
    }
}
