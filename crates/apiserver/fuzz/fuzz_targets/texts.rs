#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| remuda_apiserver::fuzzing::texts(data));
