//! Conditions, events, record and requeue: decided here and nowhere else.
