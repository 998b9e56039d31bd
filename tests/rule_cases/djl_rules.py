"""Of DJL Serving: handlers, engines, options."""

from rule_cases import Broken, Kept
from rule_cases.option_rules import djl, neuron, serving, variables

BROKEN = [
    Broken(
        "option-is-read",
        "warning",
        "serving.environment.OPTION_QUANTIZATION",
        {
            "serving": {"version": "0.32.0-lmi14", "environment": {"OPTION_QUANTIZATION": "fp8"}},
            "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
        },
        "is not read by lmi-vllm 0.32.0-lmi14; use OPTION_QUANTIZE",
    ),
    Broken(
        "handler-fits-engine",
        "error",
        "serving.handler",
        serving(engine="vllm", handler="mine"),
        "'mine' does not run on vllm: only DJL Serving takes a model.py; use an engine lmi-...",
    ),
    Broken(
        "handler-takes-single-requests",
        "error",
        "serving.max_batch_size",
        serving(engine="lmi-huggingface", handler="mine", max_batch_size=2),
        "2 is refused with serving.handler; remove it",
    ),
    Broken(
        "handler-fits-version",
        "error",
        "serving.environment.OPTION_ENTRYPOINT",
        neuron(version="0.24.0", environment={"OPTION_ENTRYPOINT": "djl_python.transformers-neuronx"}),
        "is no handler of lmi-neuronx 0.24.0; use djl_python.transformers_neuronx",
    ),
    Broken(
        "handler-fits-version",
        "error",
        "serving.environment.OPTION_ENTRYPOINT",
        djl("lmi-fastertransformer", "0.21.0", OPTION_ENTRYPOINT="djl_python.fastertransformer"),
        "is no handler of lmi-fastertransformer 0.21.0",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_S3URL",
        djl("lmi-vllm", "0.28.0-lmi10", OPTION_S3URL="s3://bucket/prefix/"),
        "option.s3url ended with 0.27; set model.weights instead",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_ROLLING_BATCH",
        djl("lmi-vllm", "0.33.0-lmi15", OPTION_ROLLING_BATCH="lmi-dist"),
        "'lmi-dist' is gone from the image of lmi-vllm 0.33.0-lmi15; remove it",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_ROLLING_BATCH",
        djl("lmi-deepspeed", "0.22.1", OPTION_ROLLING_BATCH="deepspeed"),
        "rolling batches came with 0.23; use a newer version",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_ASYNC_MODE",
        djl("lmi-vllm", "0.32.0-lmi14", OPTION_ASYNC_MODE="true"),
        "it came with LMI 15 (0.33); use a newer version",
    ),
    Broken(
        "fastertransformer-needs-code",
        "error",
        "serving.version",
        djl("lmi-fastertransformer", "0.21.0"),
        "'0.21.0' of lmi-fastertransformer has no built-in handler; use 0.22.1 or newer, or bring your own",
    ),
    Broken(
        "option-fits-version",
        "error",
        "serving.environment.OPTION_ROLLING_BATCH",
        djl("lmi-deepspeed", "0.23.0", OPTION_ROLLING_BATCH="vllm"),
        "'vllm' is not in the image of lmi-deepspeed 0.23.0: it came with 0.24; use a newer version, or lmi-dist",
    ),
    Broken(
        "library-is-in-image",
        "error",
        "serving.environment.OPTION_ROLLING_BATCH",
        djl("lmi-fastertransformer", "0.24.0", OPTION_ROLLING_BATCH="vllm"),
        "'vllm' is not in djl-inference:0.24.0-fastertransformer5.3.0-cu118; remove it, or use an image for lmi or",
    ),
    Broken(
        "library-is-in-image",
        "error",
        "serving.environment.OPTION_ENGINE",
        djl("lmi-vllm", "0.29.0-lmi11", OPTION_ENGINE="DeepSpeed"),
        "'DeepSpeed' is not in djl-inference:0.29.0-lmi11.0.0-cu124; remove it, or use an image for deepspeed",
    ),
    Broken(
        "option-is-read",
        "warning",
        "serving.environment.OPTION_TASK",
        djl("lmi-deepspeed", "0.23.0", OPTION_TASK="question-answering"),
        "'question-answering' makes the handler load facebook/opt-6.7b by a class that models which generate text",
    ),
]

KEPT = [
    Kept("option-is-read", djl("lmi-deepspeed", "0.23.0", OPTION_TASK="text-generation")),
    Kept("option-is-read", {"serving": {"version": "0.33.0", "environment": {"OPTION_QUANTIZATION": "fp8"}}}),
    Kept("library-is-in-image", djl("lmi-deepspeed", "0.25.0", OPTION_ENGINE="DeepSpeed")),
    Kept("library-is-in-image", djl("lmi-vllm", "0.29.0-lmi11", OPTION_ENGINE="MPI")),
    Kept("handler-fits-engine", serving(engine="lmi-huggingface", handler="mine")),
    Kept("handler-takes-single-requests", serving(engine="lmi-huggingface", handler="mine", max_batch_size=1)),
    Kept("handler-takes-single-requests", serving(engine="lmi-huggingface", max_batch_size=2)),
    Kept(
        "handler-fits-version",
        neuron(version="0.23.0", environment={"OPTION_ENTRYPOINT": "djl_python.transformers-neuronx"}),
    ),
    Kept("handler-fits-version", variables(OPTION_ENTRYPOINT="my_package.model")),
    Kept(
        "handler-fits-version",
        serving(engine="lmi-huggingface", handler="mine", environment={"OPTION_ENTRYPOINT": "djl_python.none"}),
    ),
    Kept("option-fits-version", djl("lmi-deepspeed", "0.27.0", OPTION_S3URL="s3://bucket/prefix/")),
    Kept("option-fits-version", djl("lmi-vllm", "0.32.0-lmi14", OPTION_ROLLING_BATCH="lmi-dist")),
    Kept("option-fits-version", djl("lmi-deepspeed", "0.23.0", OPTION_ROLLING_BATCH="deepspeed")),
    Kept("option-fits-version", djl("lmi-deepspeed", "0.22.1", OPTION_ROLLING_BATCH="disable")),
    Kept("option-fits-version", djl("lmi-vllm", "0.33.0-lmi15", OPTION_ASYNC_MODE="true")),
    Kept("fastertransformer-needs-code", djl("lmi-fastertransformer", "0.22.1")),
    Kept("fastertransformer-needs-code", serving(engine="lmi-fastertransformer", version="0.21.0", handler="mine")),
]
