//! Test worlds, builders and expectations.
