//! Bodies that are made while they are sent: a long list is never in memory twice.

use std::convert::Infallible;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::StreamExt;
use http_body::{Frame, SizeHint};

use crate::conversion::Text;

/// A piece is about this long.
const PIECE: usize = 128 * 1024;

/// Texts with a text before, between and after them. Its length is known from the start.
pub(super) struct Joined {
    before: Vec<u8>,
    texts: std::vec::IntoIter<Text>,
    /// Whether the next text is the first one.
    first: bool,
    ended: bool,
    left: u64,
}

const BETWEEN: u8 = b',';
const AFTER: &[u8] = b"]}";

impl Joined {
    /// The texts as elements of an array that `before` opens, in an object that ends with it.
    pub(super) fn new(before: Vec<u8>, texts: Vec<Text>) -> Self {
        let between = texts.len().saturating_sub(1);
        let elements: usize = texts.iter().map(Text::len).sum();
        let length = before.len() + elements + between + AFTER.len();
        Self {
            before,
            texts: texts.into_iter(),
            first: true,
            ended: false,
            left: length as u64,
        }
    }

    fn piece(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut piece = std::mem::take(&mut self.before);
        piece.reserve(PIECE.min(usize::try_from(self.left).unwrap_or(PIECE)));
        while piece.len() < PIECE {
            let Some(text) = self.texts.next() else {
                piece.extend_from_slice(AFTER);
                self.ended = true;
                break;
            };
            if !std::mem::take(&mut self.first) {
                piece.push(BETWEEN);
            }
            text.append_to(&mut piece);
        }
        self.left -= piece.len() as u64;
        Some(piece.into())
    }
}

impl http_body::Body for Joined {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.get_mut().piece();
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// The body, compressed while it is sent.
pub(super) fn gzipped(body: Body) -> Body {
    let encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let state = Some((body.into_data_stream(), encoder));
    let pieces = futures::stream::try_unfold(state, |state| async move {
        let Some((mut stream, mut encoder)) = state else {
            return Ok(None);
        };
        while let Some(piece) = stream.next().await {
            encoder.write_all(&piece?).map_err(axum::Error::new)?;
            if encoder.get_ref().len() >= PIECE / 4 {
                let packed = std::mem::take(encoder.get_mut());
                return Ok::<_, axum::Error>(Some((packed, Some((stream, encoder)))));
            }
        }
        let packed = encoder.finish().map_err(axum::Error::new)?;
        Ok(Some((packed, None)))
    });
    Body::from_stream(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    use http_body::Body as _;
    use http_body_util::BodyExt as _;

    #[tokio::test]
    async fn a_joined_text_has_the_length_it_announced() {
        for count in [0, 1, 2, 200] {
            let texts = vec![vec![b'x'; 2_000]; count];
            let plain = texts.join(&BETWEEN);
            let texts = texts.into_iter().map(Text::Made).collect();
            let joined = Joined::new(b"{\"items\":[".to_vec(), texts);
            let announced = joined.size_hint().exact().unwrap();
            let body = joined.collect().await.unwrap().to_bytes();
            assert_eq!(body.len() as u64, announced);
            assert_eq!(body, [b"{\"items\":[", plain.as_slice(), b"]}"].concat());
        }
    }

    #[tokio::test]
    async fn what_is_compressed_in_pieces_is_whole() {
        let mut random = fastrand::Rng::with_seed(1);
        let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(b'a'..=b'z'))
            .take(1_000_000)
            .collect();
        let texts = noise.chunks(5_000).map(|text| Text::Made(text.to_vec()));
        let packed = gzipped(Body::new(Joined::new(Vec::new(), texts.collect())));
        let packed = packed.collect().await.unwrap().to_bytes();
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(packed.as_ref())
            .read_to_end(&mut text)
            .unwrap();
        assert!(packed.len() < text.len());
        assert_eq!(text.len(), noise.len() + 199 + 2);
    }
}
