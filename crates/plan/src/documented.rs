//! Enums whose documentation the program can read: condition types, reasons, events. The reference
//! is made from them, so that it can't fall behind.

/// Declares an enum of plain variants and keeps what is written above each.
///
/// Besides the enum itself this makes `DOCUMENTED`: the name of each variant on the wire, which is
/// the variant's own, with its lines of documentation. Variants that serde reads for anything else
/// (`#[serde(other)]`) have no name and are left out.
///
/// ```
/// remuda_plan::documented! {
///     /// Answers.
///     #[derive(Debug)]
///     pub enum Answer {
///         /// It holds.
///         Yes,
///         /// It does not.
///         No,
///     }
/// }
///
/// assert_eq!(Answer::DOCUMENTED[1], ("No", &[" It does not."][..]));
/// ```
#[macro_export]
macro_rules! documented {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident, )+
            $( @other $(#[$other_meta:meta])+ $other:ident, )?
        }
    ) => {
        $(#[$about])*
        $vis enum $name {
            $( $(#[doc = $doc])+ $variant, )+
            $( $(#[$other_meta])+ $other, )?
        }

        impl $name {
            /// Names on the wire, each with its lines of documentation.
            $vis const DOCUMENTED: &'static [(&'static str, &'static [&'static str])] =
                &[$( (stringify!($variant), &[$($doc),+]) ),+];
        }
    };
}
