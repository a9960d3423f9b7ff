//! Every bound and figure, each with its source.
