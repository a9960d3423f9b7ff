//! Real kubectl, every version that is installed, against the listener.
//!
//! Without kubectl in PATH these tests print how to get it and pass.
#![allow(clippy::print_stdout, reason = "a skipped test says so")]

use std::path::{Path, PathBuf};
use std::process::Output;

use remuda_apiserver::{ApiServer, Instance, Serving};
use serde_json::{Value, json};
use tokio::process::Command;

/// The versions that are supported, as the dispatcher's siblings are named.
const VERSIONS: [&str; 5] = ["1.29", "1.30", "1.31", "1.32", "1.33"];

/// The kubectl programs of this machine.
pub(crate) fn programs() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join("kubectl"))
        .find(|p| p.exists());
    let Some(found) = found.and_then(|program| program.canonicalize().ok()) else {
        return Vec::new();
    };
    let beside = VERSIONS
        .iter()
        .map(|version| found.with_file_name(format!("kubectl.{version}")));
    let versioned: Vec<PathBuf> = beside.filter(|program| program.exists()).collect();
    if versioned.is_empty() {
        vec![found]
    } else {
        versioned
    }
}

/// One kubectl with a server of its own.
struct Session {
    program: PathBuf,
    folder: tempfile::TempDir,
    serving: Serving,
    _server: ApiServer,
    instance: Instance,
}

impl Session {
    async fn start(program: PathBuf) -> Self {
        let server = ApiServer::builder().seed(5).build().expect("a server");
        let address = "127.0.0.1:0".parse().expect("an address");
        let serving = server.serve(address).await.expect("a listener");
        let instance = server.management();
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(
            folder.path().join("kubeconfig"),
            serving.kubeconfig(&instance),
        )
        .expect("the folder is writable");
        let session = Self {
            program,
            folder,
            serving,
            _server: server,
            instance,
        };
        session.write("definition.yaml", &definition());
        session.ok("apply -f definition.yaml").await;
        session
    }

    fn write(&self, file: &str, value: &Value) {
        std::fs::write(self.folder.path().join(file), value.to_string())
            .expect("the folder is writable");
    }

    fn command(&self, words: &str) -> Command {
        let folder: &Path = self.folder.path();
        let mut command = Command::new(&self.program);
        command
            .current_dir(folder)
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .env("KUBE_EDITOR", "sed -i s/replicas:.*/replicas:\\ 6/")
            .arg("--cache-dir")
            .arg(folder.join("cache"))
            .args(words.split(' '));
        command.kill_on_drop(true);
        command
    }

    async fn run(&self, words: &str) -> Output {
        self.command(words).output().await.expect("kubectl starts")
    }

    /// The output of a command that must succeed without a warning.
    async fn ok(&self, words: &str) -> String {
        let output = self.run(words).await;
        let (out, err) = texts(&output);
        assert!(
            output.status.success(),
            "{} {words}: {out}{err}",
            self.program.display()
        );
        assert_eq!(err, "", "{} {words}", self.program.display());
        out
    }

    /// The complaint of a command that must fail.
    async fn refused(&self, words: &str) -> String {
        let output = self.run(words).await;
        let (out, err) = texts(&output);
        assert!(
            !output.status.success(),
            "{} {words}: {out}{err}",
            self.program.display()
        );
        err.trim_end().to_owned()
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"],
                      "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas"}},
                "additionalPrinterColumns": [
                    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
                    {"name": "Size", "type": "string", "jsonPath": ".spec.size", "priority": 1}],
                "schema": {"openAPIV3Schema": {
                    "type": "object", "description": "A widget turns.",
                    "properties": {
                        "spec": {"type": "object", "required": ["replicas"], "properties": {
                            "replicas": {"type": "integer", "minimum": 0, "maximum": 10,
                                         "description": "How many turn."},
                            "size": {"type": "string", "default": "small"}}},
                        "status": {"type": "object",
                                   "x-kubernetes-preserve-unknown-fields": true}}}},
            }],
        },
    })
}

fn widget(replicas: i64) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"},
           "spec": {"replicas": replicas}})
}

/// Runs `story` with every kubectl, or says what is missing.
async fn with_each<F: Future<Output = ()>>(story: impl Fn(Session) -> F) {
    tell(programs(), story).await;
}

/// Runs a `story` that no version tells differently with the oldest and the newest kubectl.
async fn with_oldest_and_newest<F: Future<Output = ()>>(story: impl Fn(Session) -> F) {
    let mut programs = programs();
    if programs.len() > 2 {
        programs.drain(1..programs.len() - 1);
    }
    tell(programs, story).await;
}

async fn tell<F: Future<Output = ()>>(programs: Vec<PathBuf>, story: impl Fn(Session) -> F) {
    if programs.is_empty() {
        println!("skipped: no kubectl in PATH; https://kubernetes.io/docs/tasks/tools has it");
    }
    let stories = programs.into_iter().map(|program| async {
        story(Session::start(program).await).await;
    });
    futures::future::join_all(stories).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_change_and_delete_a_custom_object() {
    with_each(|s| async move {
        s.write("w.yaml", &widget(3));
        assert_eq!(
            s.ok("apply -f w.yaml").await,
            "widget.example.com/w created\n"
        );
        assert_eq!(
            s.ok("apply -f w.yaml").await,
            "widget.example.com/w unchanged\n"
        );
        s.write("w.yaml", &widget(4));
        let diff = s.run("diff -f w.yaml").await;
        assert!(texts(&diff).0.contains("+  replicas: 4"), "{diff:?}");
        assert_eq!(
            s.ok("apply -f w.yaml").await,
            "widget.example.com/w configured\n"
        );
        let out = s.ok("apply --server-side -f w.yaml").await;
        assert_eq!(out, "widget.example.com/w serverside-applied\n");
        assert_eq!(
            s.ok("scale widget w --replicas=5").await,
            "widget.example.com/w scaled\n"
        );
        let conflict = s.refused("apply --server-side -f w.yaml").await;
        assert!(
            conflict.contains("with subresource \"scale\""),
            "{conflict}"
        );
        assert_eq!(s.ok("edit widget w").await, "widget.example.com/w edited\n");
        s.ok("label widget w tier=web").await;
        s.ok("annotate widget w note=read").await;
        let json: Value = serde_json::from_str(&s.ok("get wd w -o json").await).unwrap();
        assert_eq!(json["spec"], json!({"replicas": 6, "size": "small"}));
        assert_eq!(json["metadata"]["labels"], json!({"tier": "web"}));
        s.ok("patch widget w --subresource=status --type=merge -p {\"status\":{\"ok\":true}}")
            .await;
        s.ok("wait widget/w --for=jsonpath={.status.ok}=true --timeout=5s")
            .await;
        let out = s.ok("delete widget w").await;
        assert!(out.starts_with("widget.example.com \"w\" deleted"), "{out}");
        assert_eq!(
            s.refused("get widget w").await,
            "Error from server (NotFound): widgets.example.com \"w\" not found"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_show_the_columns_of_the_definition() {
    with_oldest_and_newest(|s| async move {
        s.write("w.yaml", &widget(3));
        s.ok("apply -f w.yaml").await;
        let words = |text: String| {
            text.lines()
                .map(|l| l.split_whitespace().map(str::to_owned).collect())
                .collect()
        };
        let plain: Vec<Vec<String>> = words(s.ok("get widgets").await);
        assert_eq!(plain, [["NAME", "REPLICAS"], ["w", "3"]]);
        let wide: Vec<Vec<String>> = words(s.ok("get widgets -o wide").await);
        assert_eq!(wide, [["NAME", "REPLICAS", "SIZE"], ["w", "3", "small"]]);
        let all: Vec<Vec<String>> = words(s.ok("get widgets -A --show-labels").await);
        assert_eq!(all[1], ["default", "w", "3", "<none>"]);
        assert_eq!(s.ok("get all -o name").await, "widget.example.com/w\n");
        assert!(s.ok("describe widget w").await.contains("Replicas:  3"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_prints_changes_as_they_come() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    with_oldest_and_newest(|s| async move {
        s.write("w.yaml", &widget(1));
        s.ok("apply -f w.yaml").await;
        let mut watch =
            s.command("get widgets w -w -o custom-columns=R:.spec.replicas --no-headers");
        let mut child = watch.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for replicas in 1..=4 {
            let line = lines.next_line().await.unwrap().expect("the watch goes on");
            assert_eq!(line.trim(), replicas.to_string());
            s.ok(&format!("scale widget w --replicas={}", replicas + 1))
                .await;
        }
        child.kill().await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_in_kubernetes_words() {
    with_oldest_and_newest(|s| async move {
        s.write("w.yaml", &widget(30));
        assert_eq!(
            s.refused("apply -f w.yaml").await,
            "The Widget \"w\" is invalid: spec.replicas: Invalid value: 30: spec.replicas in body \
             should be less than or equal to 10"
        );
        let mut unknown = widget(3);
        unknown["spec"]["sise"] = "large".into();
        s.write("w.yaml", &unknown);
        let error = s.refused("create -f w.yaml").await;
        assert!(
            error.contains("strict decoding error: unknown field \"spec.sise\""),
            "{error}"
        );
        let output = s.run("create --validate=warn -f w.yaml").await;
        assert_eq!(texts(&output).1, "Warning: unknown field \"spec.sise\"\n");
        assert_eq!(s.instance.journal().writes().last().unwrap().status, 201);
        assert!(s.refused("patch widget w -p {\"spec\":{\"replicas\":4}}").await.starts_with(
            "error: application/strategic-merge-patch+json is not supported by example.com/v1"));
        assert_eq!(
            s.refused("get pods --field-selector spec.nothing=x").await,
            "Error from server (BadRequest): Unable to find \"/v1, Resource=pods\" that match \
             label selector \"\", field selector \"spec.nothing=x\": field label not supported: \
             spec.nothing"
        );
        assert_eq!(
            s.refused("create configmap c -n nowhere").await,
            "error: failed to create configmap: namespaces \"nowhere\" not found"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn imperative_commands_and_reviews_work_in_json_and_protobuf() {
    with_each(|s| async move {
        s.ok("create namespace team").await;
        s.ok("create configmap c -n team --from-literal=a=b").await;
        s.ok("create secret generic s -n team --from-literal=password=x")
            .await;
        s.ok("create serviceaccount bot -n team").await;
        s.ok("create role r -n team --verb=get --resource=pods")
            .await;
        s.ok("create rolebinding b -n team --role=r --user=u").await;
        s.ok("create pdb p -n team --selector=app=web --min-available=50%")
            .await;
        let secret = s
            .ok("get secret s -n team -o jsonpath={.data.password}")
            .await;
        assert_eq!(secret, "eA==");
        let spec = s.ok("get pdb p -n team -o jsonpath={.spec}").await;
        assert_eq!(
            serde_json::from_str::<Value>(&spec).unwrap(),
            json!({"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}})
        );
        assert_eq!(s.ok("auth can-i create pods").await, "yes\n");
        assert!(s.ok("auth whoami").await.contains("kubernetes-admin"));
        s.ok("delete namespace team").await;
        assert!(s.ok("get secrets,configmaps -A -o name").await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_cordoned_tainted_and_drained_within_budgets() {
    with_oldest_and_newest(|s| async move {
        s.write(
            "node.yaml",
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}),
        );
        s.write(
            "pod.yaml",
            &json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"app": "web"}},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}),
        );
        s.ok("apply -f node.yaml -f pod.yaml").await;
        let status = json!({"status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": "True"}]}});
        s.ok(&format!(
            "patch pod p --subresource=status --type=merge -p {status}"
        ))
        .await;
        s.ok("taint node n key=value:NoSchedule").await;
        assert_eq!(
            s.ok("get node n -o jsonpath={.spec.taints[*].key}").await,
            "key"
        );
        s.ok("create pdb b --selector=app=web --min-available=1")
            .await;
        let refused = s.refused("drain n --force --timeout=1s").await;
        assert!(
            refused.contains("Cannot evict pod as it would violate the pod's disruption budget."),
            "{refused}"
        );
        s.ok("delete pdb b").await;
        // Who drains waits until the kubelet says that the pod has stopped; here somebody else does.
        let stopped = async {
            s.ok("wait pod/p --for=jsonpath={.metadata.deletionGracePeriodSeconds}=30")
                .await;
            let forced = s.run("delete pod p --grace-period=0 --force --wait=false");
            assert!(forced.await.status.success());
        };
        let (drained, ()) = tokio::join!(s.run("drain n --force"), stopped);
        assert!(drained.status.success(), "{drained:?}");
        assert_eq!(
            s.ok("get node n -o jsonpath={.spec.unschedulable}").await,
            "true"
        );
        s.ok("uncordon n").await;
        assert!(s.ok("get pods -o name").await.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_and_explain_know_every_kind() {
    with_each(|s| async move {
        let resources = s.ok("api-resources -o name --cached=false").await;
        for name in [
            "widgets.example.com",
            "pods",
            "leases.coordination.k8s.io",
            "secrets",
            "poddisruptionbudgets.policy",
            "customresourcedefinitions.apiextensions.k8s.io",
        ] {
            assert!(
                resources.lines().any(|line| line == name),
                "{name} in {resources}"
            );
        }
        let explained = s.ok("explain widget.spec.replicas").await;
        assert!(explained.contains("How many turn."), "{explained}");
        assert!(
            s.ok("explain pod.spec.containers")
                .await
                .contains("-required-")
        );
        // Every version of kubectl reads the older document as protobuf.
        let old = " --output=plaintext-openapiv2";
        let explained = s.ok(&format!("explain widget.spec.replicas{old}")).await;
        assert!(explained.contains("How many turn."), "{explained}");
        let explained = s.ok(&format!("explain pod.spec.containers{old}")).await;
        assert!(explained.contains("imagePullPolicy"), "{explained}");
        let explained = s
            .ok(&format!("explain pod.spec.containers.image{old}"))
            .await;
        assert!(explained.contains("Container image name"), "{explained}");
        s.ok("delete crd widgets.example.com").await;
        let gone = s.refused("get widgets").await;
        assert!(
            gone.contains("could not find the requested resource")
                || gone.contains("the server doesn't have a resource type"),
            "{gone}"
        );
        drop(s.serving);
    })
    .await;
}
