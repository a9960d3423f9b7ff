//! What a 64-bit ELF file asks of whoever starts it.

use anyhow::{Context, Result, ensure};

/// Type of the program header that names a loader.
const INTERP: u32 = 3;

/// Whether the program starts without a loader, and so without libraries.
pub(crate) fn is_static(file: &[u8]) -> Result<bool> {
    let elf = file.starts_with(b"\x7fELF\x02\x01");
    ensure!(elf, "it is no little-endian 64-bit ELF file");
    // Offsets of the System V ABI, figure 4-3: e_phoff, e_phentsize, e_phnum.
    let table = usize::try_from(u64::from_le_bytes(part(file, 32)?))?;
    let size = usize::from(u16::from_le_bytes(part(file, 54)?));
    let number = usize::from(u16::from_le_bytes(part(file, 56)?));
    for index in 0..number {
        if u32::from_le_bytes(part(file, table + index * size)?) == INTERP {
            return Ok(false);
        }
    }
    Ok(true)
}

fn part<const N: usize>(file: &[u8], at: usize) -> Result<[u8; N]> {
    let bytes = file.get(at..at + N).context("the ELF file is cut off")?;
    Ok(bytes.try_into()?)
}

#[cfg(test)]
mod tests {
    use super::is_static;

    /// A header with one program header of a type.
    fn file(kind: u8) -> Vec<u8> {
        let mut file = vec![0; 64 + 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[32], file[54], file[56], file[64]) = (64, 56, 1, kind);
        file
    }

    #[test]
    fn a_program_header_that_names_a_loader_is_found() {
        assert!(is_static(&file(1)).unwrap());
        assert!(!is_static(&file(3)).unwrap());
        assert!(is_static(&file(1)[..80]).unwrap(), "its type is in it");
        assert!(is_static(&file(1)[..66]).is_err(), "cut off");
        assert!(is_static(b"#!/bin/sh").is_err());
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(!is_static(&own).unwrap(), "tests are linked dynamically");
    }
}
