"""The stages of a question: what every one of them has in common, from files to an answer that is judged."""
