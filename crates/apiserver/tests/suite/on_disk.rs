//! A server on disk, its objects by hand, and the bytes it leaves.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use remuda_apiserver::{ApiServer, BuildError, Instance};
use serde_json::json;

/// The store's file in its folder.
pub(crate) const STORE: &str = "apiserver.redb";

/// A new folder for its owner alone, as a server asks for.
pub(crate) fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let private = std::fs::Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().permissions(private).tempdir();
    made.expect("a folder")
}

pub(crate) fn open(folder: &Path) -> Result<ApiServer, BuildError> {
    ApiServer::builder().data_dir(folder).build()
}

pub(crate) fn secrets(instance: &Instance) -> Api<Secret> {
    Api::default_namespaced(Client::new(instance.router(), "default"))
}

pub(crate) fn maps(instance: &Instance) -> Api<ConfigMap> {
    Api::default_namespaced(Client::new(instance.router(), "default"))
}

/// Makes or changes a Secret with one value.
pub(crate) async fn put_secret(instance: &Instance, name: &str, value: &str) -> Secret {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
        "stringData": {"value": value},
    });
    let params = PatchParams::apply("test").force();
    let (api, secret) = (secrets(instance), Patch::Apply(secret));
    let patched = api.patch(name, &params, &secret);
    patched.await.expect("a secret is taken")
}

/// Makes or changes a ConfigMap with one value.
pub(crate) async fn put_map(instance: &Instance, name: &str, value: &str) -> ConfigMap {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
        "data": {"value": value},
    });
    let params = PatchParams::apply("test").force();
    let (api, map) = (maps(instance), Patch::Apply(map));
    let patched = api.patch(name, &params, &map);
    patched.await.expect("a config map is taken")
}

/// The value of a Secret.
pub(crate) async fn secret_value(instance: &Instance, name: &str) -> Option<String> {
    let found = secrets(instance).get_opt(name).await.expect("an answer")?;
    let bytes = found.data?.remove("value")?.0;
    String::from_utf8(bytes).ok()
}

/// The value of a ConfigMap.
pub(crate) async fn map_value(instance: &Instance, name: &str) -> Option<String> {
    let found = maps(instance).get_opt(name).await.expect("an answer")?;
    found.data?.remove("value")
}

/// Writes a file for its owner alone.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, bytes).expect("a folder of this test");
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, private).expect("a file of this test");
}

/// Every file of a folder with its bytes.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let entries = entries.map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, std::fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

/// Whether bytes hold a text, as it is or in base64 (at any of the three alignments).
pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    let aligned = (0..3).map(|skip| {
        let padded = [&b"\0\0"[..skip], text.as_bytes()].concat();
        let encoded = STANDARD_NO_PAD.encode(&padded[..padded.len() / 3 * 3]);
        encoded
            .into_bytes()
            .split_off(if skip == 0 { 0 } else { 4 })
    });
    let mut wanted = aligned.chain([text.as_bytes().to_vec()]);
    wanted.any(|wanted| memchr::memmem::find(bytes, &wanted).is_some())
}

/// The files of a folder that hold a text.
pub(crate) fn holders(folder: &Path, text: &str) -> Vec<String> {
    let found = files(folder).into_iter();
    found
        .filter(|(_, bytes)| holds(bytes, text))
        .map(|(name, _)| name)
        .collect()
}
