"""Names of the tools whose exports are read, in calls and in words; without imports, for the options of commands."""

TITLES = {
    "inspect": "Inspect",
    "promptfoo": "promptfoo",
    "deepeval": "DeepEval",
    "lm-eval": "lm-evaluation-harness",
    "arena": "Chatbot Arena",
    "label-studio": "Label Studio",
    "argilla": "Argilla",
    "prodigy": "Prodigy",
}
