"""Which of several groups grows: one file an expander. They are asked in turn until one option is left."""
