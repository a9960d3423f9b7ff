//! Reading images: of galleries that others share, of one's own, and managed ones.

use serde_json::json;

use crate::azure::{
    protocol::{Answer, ArmError},
    service::ArmRequest,
    state::View,
};

/// `GET` of an image, an image definition or a version. What the address says below its location
/// is the image's id; an image of one's own has its whole address as id.
pub(crate) fn get_image(view: View<'_>, request: &ArmRequest) -> Result<Answer, ArmError> {
    let id = request.name();
    if view.fabric.images.find(id).is_none() {
        let name = id.rsplit('/').next().unwrap_or_default();
        let message = format!("The resource '{name}' was not found: {id}.");
        return Err(ArmError::new(404, "NotFound", message));
    }
    Ok(Answer::ok(json!({
        "name": id.rsplit('/').next(),
        "id": id,
        "location": "westeurope",
        "properties": { "provisioningState": "Succeeded" },
    })))
}
