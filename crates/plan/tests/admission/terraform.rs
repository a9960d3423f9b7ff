//! `TerraformMachinePool`: what is said about a pool that is stored nevertheless.

use remuda_plan::admission::{Kind, Request, warnings};
use serde_json::json;

use super::named;

fn told(image: &str, name: &str) -> Vec<String> {
    let mut pool = named(Kind::TerraformMachinePool);
    pool["spec"] = json!({
        "source": { "image": image },
        "variables": { name: "a-secret-perhaps" },
    });
    warnings(Kind::TerraformMachinePool, &Request::create(&pool))
}

#[test]
fn a_variable_that_no_driver_takes_is_named_with_what_to_do_and_without_its_value() {
    for (image, mistaken, meant) in [
        (
            "ghcr.io/captf-io/aws-machinepool:v0.1.0",
            "instance_typ",
            "instance_type",
        ),
        (
            "ghcr.io/captf-io/azure-machinepool:v0.1.0",
            "vmsize",
            "vm_size",
        ),
    ] {
        let told = told(image, mistaken).join("\n");
        assert!(
            told.contains(&format!("spec.variables.{mistaken}: ")),
            "{told}"
        );
        assert!(told.contains(&format!("did you mean {meant}?")), "{told}");
        assert!(!told.contains("a-secret-perhaps"), "{told}");
    }
}

#[test]
fn a_value_out_of_bounds_is_named_by_its_variable() {
    let mut pool = named(Kind::TerraformMachinePool);
    pool["spec"] = json!({
        "source": { "image": "ghcr.io/captf-io/aws-machinepool:v0.1.0" },
        "variables": { "root_volume_size_gib": 7 },
    });
    let told = warnings(Kind::TerraformMachinePool, &Request::create(&pool)).join("\n");
    assert!(
        told.contains("spec.variables.root_volume_size_gib: "),
        "{told}"
    );
}
