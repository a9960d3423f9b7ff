//! Real kubectl with identities: a client certificate, a ServiceAccount's token, `--as`.
//!
//! Without kubectl in PATH these tests pass without asserting; `kubectl.rs` says how to get it.

use std::path::PathBuf;

use remuda_apiserver::{ApiServer, Instance, Serving};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::asking::{As, grant};
use crate::authentication::certified;
use crate::kubectl::programs;

/// A server and a folder of kubeconfigs.
struct Bench {
    program: PathBuf,
    folder: tempfile::TempDir,
    serving: Serving,
    instance: Instance,
    _server: ApiServer,
}

impl Bench {
    async fn start(program: PathBuf) -> Self {
        let server = ApiServer::builder().build().expect("a server");
        let address = "127.0.0.1:0".parse().expect("an address");
        let serving = server.serve(address).await.expect("a listener");
        let instance = server.management();
        let folder = tempfile::tempdir().expect("a folder");
        let bench = Self {
            program,
            folder,
            serving,
            instance,
            _server: server,
        };
        let admin = bench.serving.kubeconfig(&bench.instance);
        std::fs::write(bench.folder.path().join("admin"), admin).expect("writable");
        bench
    }

    /// Writes a kubeconfig for a user.
    fn login(&self, name: &str, user: &Value) {
        let text = self.serving.kubeconfig(&self.instance);
        let file = kube::config::Kubeconfig::from_yaml(&text).expect("a kubeconfig");
        let mut file = serde_json::to_value(file).expect("JSON");
        file["users"][0]["user"] = user.clone();
        std::fs::write(self.folder.path().join(name), file.to_string()).expect("writable");
    }

    /// Runs a command as somebody: whether it succeeded, and what it said.
    async fn run(&self, who: &str, words: &str) -> (bool, String) {
        let folder = self.folder.path();
        let output = Command::new(&self.program)
            .current_dir(folder)
            .env("KUBECONFIG", folder.join(who))
            .arg("--cache-dir")
            .arg(folder.join("cache"))
            .args(words.split(' '))
            .kill_on_drop(true)
            .output()
            .await
            .expect("kubectl starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        let said = [text(&output.stdout), text(&output.stderr)];
        let said: Vec<&str> = said
            .iter()
            .map(String::as_str)
            .filter(|t| !t.is_empty())
            .collect();
        (output.status.success(), said.join("\n"))
    }

    async fn says(&self, who: &str, words: &str, succeeds: bool, said: &str) {
        let (success, text) = self.run(who, words).await;
        assert_eq!(
            (success, text.as_str()),
            (succeeds, said),
            "{} as {who}: {words}",
            self.program.display()
        );
    }
}

#[tokio::test]
async fn a_certificate_is_an_identity_that_roles_decide_about() {
    for program in programs() {
        let bench = Bench::start(program).await;
        let admin = As::admin(&bench.instance);
        let user = certified(
            &admin,
            "c",
            "kube-apiserver-client",
            ("alice", &["dev", "ops"]),
        )
        .await;
        bench.login("alice", &user);
        let refused = |verb: &str, what: &str| {
            format!(
                "Error from server (Forbidden): {what} is forbidden: User \"alice\" cannot {verb} \
                 resource \"{what}\" in API group \"\" in the namespace \"default\""
            )
        };
        bench
            .says("alice", "get pods", false, &refused("list", "pods"))
            .await;
        bench
            .says("alice", "auth can-i list pods", false, "no")
            .await;
        let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "get"]}]);
        grant(&admin, "alice", "default", "reader", rules).await;
        bench
            .says(
                "alice",
                "get pods",
                true,
                "No resources found in default namespace.",
            )
            .await;
        bench
            .says("alice", "auth can-i list pods", true, "yes")
            .await;
        bench
            .says("alice", "auth can-i delete pods", false, "no")
            .await;
        bench
            .says("alice", "get secrets", false, &refused("list", "secrets"))
            .await;
        let (_, list) = bench.run("alice", "auth can-i --list").await;
        let pods = list.lines().find(|line| line.starts_with("pods "));
        assert!(
            pods.is_some_and(|line| line.ends_with("[list get]")),
            "{list}"
        );
        let (_, who) = bench.run("alice", "auth whoami -o json").await;
        let who: Value = serde_json::from_str(&who).unwrap_or_else(|_| panic!("{who}"));
        assert_eq!(who["status"]["userInfo"]["username"], "alice");
        let groups = json!(["dev", "ops", "system:authenticated"]);
        assert_eq!(who["status"]["userInfo"]["groups"], groups);
    }
}

#[tokio::test]
async fn a_token_made_by_kubectl_works_until_its_account_goes() {
    for program in programs() {
        let bench = Bench::start(program).await;
        bench
            .says(
                "admin",
                "create serviceaccount robot",
                true,
                "serviceaccount/robot created",
            )
            .await;
        let (made, token) = bench
            .run("admin", "create token robot --duration=15m")
            .await;
        assert!(made, "{token}");
        bench.login("robot", &json!({"token": token}));
        let user = "system:serviceaccount:default:robot";
        let refused = format!(
            "Error from server (Forbidden): pods is forbidden: User \"{user}\" cannot list resource \
             \"pods\" in API group \"\" in the namespace \"default\""
        );
        bench.says("robot", "get pods", false, &refused).await;
        let bind = "create rolebinding view --clusterrole=view --serviceaccount=default:robot";
        bench
            .says(
                "admin",
                bind,
                true,
                "rolebinding.rbac.authorization.k8s.io/view created",
            )
            .await;
        bench
            .says(
                "robot",
                "get pods",
                true,
                "No resources found in default namespace.",
            )
            .await;
        bench
            .says(
                "admin",
                &format!("auth can-i list pods --as={user}"),
                true,
                "yes",
            )
            .await;
        bench
            .says(
                "admin",
                &format!("auth can-i list secrets --as={user}"),
                false,
                "no",
            )
            .await;
        let short = "create token robot --duration=1m";
        let (made, said) = bench.run("admin", short).await;
        assert!(
            !made && said.contains("may not specify a duration less than 10 minutes"),
            "{said}"
        );
        bench
            .says(
                "admin",
                "delete serviceaccount robot",
                true,
                "serviceaccount \"robot\" deleted",
            )
            .await;
        let (_, said) = bench.run("robot", "get pods").await;
        assert!(
            said.contains("Unauthorized") || said.contains("must be logged in"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn acting_as_somebody_else_shows_their_view() {
    for program in programs() {
        let bench = Bench::start(program).await;
        let refused = "Error from server (Forbidden): secrets is forbidden: User \"eve\" cannot list \
                       resource \"secrets\" in API group \"\" in the namespace \"default\"";
        bench
            .says("admin", "get secrets --as=eve", false, refused)
            .await;
        let none = "No resources found in default namespace.";
        bench
            .says(
                "admin",
                "get secrets --as=eve --as-group=system:masters",
                true,
                none,
            )
            .await;
        let role = "create role r --verb=get --resource=pods --as=eve";
        let (made, said) = bench.run("admin", role).await;
        assert!(
            !made && said.contains("cannot create resource \"roles\""),
            "{said}"
        );
        // A role of everything one may list, through kubectl's own reading of discovery.
        let role =
            "create clusterrole scaler --verb=get,update --resource=pods,serviceaccounts/token";
        bench
            .says(
                "admin",
                role,
                true,
                "clusterrole.rbac.authorization.k8s.io/scaler created",
            )
            .await;
        let (_, rules) = bench
            .run(
                "admin",
                "get clusterrole scaler -o jsonpath={.rules[*].resources}",
            )
            .await;
        assert_eq!(rules, "[\"pods\",\"serviceaccounts/token\"]");
    }
}
