//! A headless Chromium, driven over WebDriver: JSON over HTTP to `chromedriver`.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::running::PATIENCE;

/// Key under which WebDriver hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window. Dropping it closes it.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: TempDir,
}

/// How a page is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    /// Width of the window.
    pub(crate) width: u32,
    /// `light` or `dark`.
    pub(crate) scheme: &'static str,
}

impl Browser {
    /// Starts one; `None` (with a line that says how to get it) where there is none.
    pub(crate) fn start() -> Option<Self> {
        let unwanted = std::env::var("REMUDA_BROWSER").is_ok_and(|wish| wish == "none");
        let driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = match driver {
            Ok(driver) if !unwanted => driver,
            Ok(mut driver) => {
                let _ = driver.kill();
                let _ = driver.wait();
                return None;
            }
            Err(_) => {
                eprintln!(
                    "skipped: chromedriver is not in PATH (apt-get install chromium chromium-driver)"
                );
                return None;
            }
        };
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("started successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Self {
            driver,
            port: port.expect("chromedriver tells its port"),
            session: String::new(),
            profile,
        };
        browser.open();
        Some(browser)
    }

    fn open(&mut self) {
        let profile = self.profile.path().display().to_string();
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-gpu".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--window-size=1280,900".to_owned(),
            format!("--user-data-dir={profile}"),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
        } } });
        let answer = self.ask("POST", "/session", &wanted);
        answer["sessionId"]
            .as_str()
            .expect("a session")
            .clone_into(&mut self.session);
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.try_ask(method, path, body);
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    fn try_ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        // The driver refuses a body that is no object, also where it needs none.
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|e| e.to_string())?;
        stream
            .set_read_timeout(Some(PATIENCE))
            .map_err(|e| e.to_string())?;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream
            .write_all(request.as_bytes())
            .map_err(|e| e.to_string())?;
        let mut answer = Vec::new();
        // A driver that keeps the connection open is cut off by the length below.
        let mut buffer = [0; 8192];
        loop {
            let read = stream.read(&mut buffer).map_err(|e| e.to_string())?;
            answer.extend_from_slice(buffer.get(..read).unwrap_or_default());
            if read == 0 || is_whole(&answer) {
                break;
            }
        }
        let text = String::from_utf8_lossy(&answer);
        let (_, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
        let value: Value = serde_json::from_str(body).map_err(|e| format!("{e}: {body}"))?;
        let value = value["value"].clone();
        match value.get("error") {
            Some(error) => Err(format!("{error}: {}", value["message"])),
            None => Ok(value),
        }
    }

    fn of_session(&self, path: &str) -> String {
        format!("/session/{}{path}", self.session)
    }

    /// A command of Chromium's own protocol.
    fn chromium(&self, command: &str, parameters: &Value) -> Value {
        let body = json!({ "cmd": command, "params": parameters });
        self.ask("POST", &self.of_session("/goog/cdp/execute"), &body)
    }

    /// Goes to an address.
    pub(crate) fn go(&self, url: &str) {
        self.ask("POST", &self.of_session("/url"), &json!({ "url": url }));
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        let url = self.ask("GET", &self.of_session("/url"), &Value::Null);
        url.as_str().unwrap_or_default().to_owned()
    }

    /// Evaluates a function body.
    pub(crate) fn script(&self, body: &str) -> Value {
        let script = json!({ "script": body, "args": [] });
        self.ask("POST", &self.of_session("/execute/sync"), &script)
    }

    /// The text that is shown.
    pub(crate) fn text(&self) -> String {
        let text = self.script("return document.body.innerText");
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page says something; panics with the page after [`PATIENCE`].
    pub(crate) fn until(&self, what: &str, says: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if says(&text) {
                return text;
            }
            assert!(
                Instant::now() < deadline,
                "{what}: {} shows:\n{text}",
                self.url()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn find(&self, selector: &str) -> String {
        let wanted = json!({ "using": "css selector", "value": selector });
        let element = self.ask("POST", &self.of_session("/element"), &wanted);
        element[ELEMENT].as_str().expect("an element").to_owned()
    }

    /// Clicks on what a selector finds.
    pub(crate) fn click(&self, selector: &str) {
        let element = self.find(selector);
        let path = self.of_session(&format!("/element/{element}/click"));
        self.ask("POST", &path, &json!({}));
    }

    /// Empties a field and types into it.
    pub(crate) fn fill(&self, selector: &str, text: &str) {
        let element = self.find(selector);
        self.ask(
            "POST",
            &self.of_session(&format!("/element/{element}/clear")),
            &json!({}),
        );
        let path = self.of_session(&format!("/element/{element}/value"));
        self.ask("POST", &path, &json!({ "text": text }));
    }

    /// Presses a key, wherever the focus is.
    pub(crate) fn press(&self, key: &str) {
        let keys = json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": [
            { "type": "keyDown", "value": key }, { "type": "keyUp", "value": key },
        ] }] });
        self.ask("POST", &self.of_session("/actions"), &keys);
    }

    /// Looks at pages with another width and colours from now on.
    pub(crate) fn look(&self, look: Look) {
        let metrics = json!({
            "width": look.width, "height": 900, "deviceScaleFactor": 1, "mobile": look.width < 600,
        });
        self.chromium("Emulation.setDeviceMetricsOverride", &metrics);
        let media =
            json!({ "features": [{ "name": "prefers-color-scheme", "value": look.scheme }] });
        self.chromium("Emulation.setEmulatedMedia", &media);
    }

    /// Turns scripts of pages off or on.
    pub(crate) fn scripts(&self, on: bool) {
        self.chromium(
            "Emulation.setScriptExecutionDisabled",
            &json!({ "value": !on }),
        );
    }

    /// Saves the whole page as a picture.
    pub(crate) fn picture(&self, file: &Path) {
        let wanted = json!({ "format": "png", "captureBeyondViewport": true });
        let picture = self.chromium("Page.captureScreenshot", &wanted);
        let text = picture["data"].as_str().expect("a picture");
        std::fs::write(file, STANDARD.decode(text).unwrap()).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.try_ask("DELETE", &self.of_session(""), &Value::Null);
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Whether an answer has as many bytes as it says.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, _)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let length = name.eq_ignore_ascii_case("content-length");
        length.then(|| value.trim().parse::<usize>().ok()).flatten()
    });
    length.is_some_and(|length| answer.len() >= head.len() + 4 + length)
}
