//! The listener: who gets in, which instance answers, what a client sees of TLS.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use remuda_apiserver::{ApiServer, ServeError};
use serde_json::json;

async fn client_of(kubeconfig: &str) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .expect("a config");
    Client::try_from(config).expect("a client")
}

async fn status(client: &Client, path: &str) -> u16 {
    let request = http::Request::get(path)
        .body(Body::empty())
        .expect("a valid request");
    client
        .send(request)
        .await
        .expect("an answer")
        .status()
        .as_u16()
}

#[tokio::test]
async fn a_kubeconfig_opens_its_own_instance_and_no_other() {
    let server = ApiServer::builder().build().unwrap();
    let (management, workload) = (server.management(), server.instance("team-a/demo"));
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let admin = serving.kubeconfig(&management);
    let inside = serving.kubeconfig(&workload);
    let (admin_client, inside_client) = (client_of(&admin).await, client_of(&inside).await);

    let maps: Api<ConfigMap> = Api::namespaced(inside_client.clone(), "default");
    let map = serde_json::from_value(json!({"metadata": {"name": "m"}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    let outside: Api<ConfigMap> = Api::namespaced(admin_client.clone(), "default");
    assert!(
        outside.get_opt("m").await.unwrap().is_none(),
        "instances share nothing"
    );
    assert_eq!(management.journal().total(), 0);
    let writes = workload.journal().writes();
    let write = writes.first().unwrap();
    assert_eq!((writes.len(), write.verb, write.status), (1, "create", 201));

    // The workload's token at the management's address.
    let address = format!("https://{}", serving.address());
    let stolen = inside.replace(&serving.url(&workload), &address);
    let stolen = client_of(&stolen).await;
    assert_eq!(status(&stolen, "/api/v1/namespaces").await, 401);
    assert_eq!(
        status(&admin_client, "/clusters/team-a/none/api/v1/namespaces").await,
        401
    );
    serving.shutdown().await;
}

#[tokio::test]
async fn without_credentials_only_health_version_and_the_roots_of_discovery_answer() {
    let server = ApiServer::builder().build().unwrap();
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let kubeconfig = serving.kubeconfig(&server.management());
    let kept: Vec<&str> = kubeconfig
        .lines()
        .filter(|line| !line.contains("token:"))
        .collect();
    let anonymous = kept.join(
        "
",
    ) + "
";
    let anonymous = client_of(&anonymous.replace("user:\n", "user: {}\n")).await;
    for path in ["/healthz", "/livez", "/readyz", "/version", "/api", "/apis"] {
        assert_eq!(status(&anonymous, path).await, 200, "{path}");
    }
    for path in [
        "/",
        "/api/v1",
        "/api/v1/secrets",
        "/openapi/v3",
        "/apis/apps/v1",
    ] {
        assert_eq!(status(&anonymous, path).await, 401, "{path}");
    }
    let wrong = kubeconfig.replace("token: ", "token: 0");
    assert_eq!(
        status(&client_of(&wrong).await, "/api/v1/secrets").await,
        401
    );
}

#[tokio::test]
async fn only_loopback_is_served() {
    let server = ApiServer::builder().build().unwrap();
    let error = server
        .serve("0.0.0.0:0".parse().unwrap())
        .await
        .unwrap_err();
    assert!(matches!(error, ServeError::NotLoopback(_)), "{error}");
}

#[tokio::test]
async fn secrets_of_the_server_are_private_and_unprintable() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = ApiServer::builder().data_dir(&data).build().unwrap();
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    for file in std::fs::read_dir(&data).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.file_name());
    }
    assert_eq!(
        std::fs::metadata(&data).unwrap().permissions().mode() & 0o777,
        0o700
    );
    let secret = std::fs::read_to_string(data.join("token.secret")).unwrap();
    let kubeconfig = serving.kubeconfig(&server.management());
    let token = kubeconfig
        .split("token: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let printed = format!("{server:?} {serving:?} {:?}", server.management());
    assert!(!printed.contains(secret.trim()) && !printed.contains(token));
    assert!(
        !kubeconfig.contains(secret.trim()),
        "the token tells nothing of the secret"
    );
}
