//! The `aws-chunked` body encoding: chunks with their sizes, then trailers. Clients use it to send
//! a checksum after the body.

/// The payload inside an `aws-chunked` body; `None` when the framing is broken.
pub(crate) fn decode(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut payload = Vec::with_capacity(body.len());
    loop {
        let line_end = body.windows(2).position(|pair| pair == b"\r\n")?;
        let line = std::str::from_utf8(&body[..line_end]).ok()?;
        // A chunk signature may follow the size: `400;chunk-signature=…`.
        let size = usize::from_str_radix(line.split(';').next()?.trim(), 16).ok()?;
        body = &body[line_end + 2..];
        if size == 0 {
            return Some(payload);
        }
        payload.extend_from_slice(body.get(..size)?);
        body = body.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_trailers_dropped() {
        let body =
            b"5\r\nhello\r\n1;chunk-signature=0f\r\n!\r\n0\r\nx-amz-checksum-crc32:AA==\r\n\r\n";
        assert_eq!(decode(body).unwrap(), b"hello!");
        assert_eq!(decode(b"5\r\nhel"), None);
        assert_eq!(decode(b"zz\r\n"), None);
    }
}
