"""Of image, host image and instance type: processor, accelerator, driver, number formats."""

from typing import Any

from rule_cases import OWN_REGISTRY, Broken, Changes, Kept

CPU_VERSION = "2.6.0-transformers5.5.3-cpu"
GPU_3, GPU_4 = "al2-ami-sagemaker-inference-gpu-3-1", "al2023-ami-sagemaker-inference-gpu-4-1"
FIRST_NEURON = "huggingface-pytorch-inference-neuron:1.9.1-transformers4.12.3-neuron-py37-sdk1.17.1-ubuntu18.04"
NEURON = "al2-ami-sagemaker-inference-neuron-2"
SMALL = {"id": "facebook/opt-1.3b"}
BERT = {"id": "google-bert/bert-base-cased"}


def on(instance_type: str | list[str], model: Changes | None = None, ami: str | None = None, **serving: Any) -> Changes:
    hosting = {"instance_type": instance_type, **({"inference_ami_version": ami} if ami else {})}
    return {"model": model or SMALL, "serving": serving, "hosting": hosting}


def image(name: str) -> dict[str, Any]:
    return {"image_uri": f"{OWN_REGISTRY}/{name}"}


BROKEN = [
    Broken(
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on("ml.m5.xlarge"),
        "'ml.m5.xlarge' has no NVIDIA GPU (no accelerator), but the image of lmi-vllm is built for NVIDIA GPUs; use a "
        "GPU type such as ml.g5.xlarge or ml.g6.2xlarge, or an engine whose image is made for CPUs (huggingface, "
        "llama-cpp)",
    ),
    Broken(
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on("ml.inf2.8xlarge"),
        "has no NVIDIA GPU (AWS inferentia2)",
    ),
    Broken(
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on("ml.g6.2xlarge", engine="lmi-neuronx"),
        "is not a Neuron type (NVIDIA L4 GPUs), but the image of lmi-neuronx is built for AWS Neuron; use a Neuron "
        "type such as ml.inf2.8xlarge",
    ),
    Broken(
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on("ml.inf1.6xlarge", engine="lmi-neuronx"),
        "'ml.inf1.6xlarge' is of another generation than what the neuronx image drives; use ml.inf2 or ml.trn1",
    ),
    Broken(
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on("ml.inf2.8xlarge", engine="custom", **image(FIRST_NEURON)),
        "'ml.inf2.8xlarge' is of another generation than what the neuron image drives; use ml.inf1",
    ),
    Broken(
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on("ml.c7g.4xlarge", engine="huggingface", version=CPU_VERSION),
        "has arm64 processors, the image is built for x86_64; use another type, or a version of the image for this",
    ),
    Broken(  # known by its name only
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on("ml.m5.xlarge", **image("team/llm:7-gpu-py312")),
        "has no NVIDIA GPU",
    ),
    Broken(
        "image-fits-platform",
        "error",
        "hosting.instance_type",
        on(["ml.g6.2xlarge", "ml.m5.xlarge"], tensor_parallel_degree=1),
        "built for NVIDIA GPUs; use types of one kind, since one image serves the whole pool",
    ),
    Broken(
        "accelerator-is-used",
        "warning",
        "hosting.instance_type",
        on("ml.g6.2xlarge", engine="huggingface", version=CPU_VERSION),
        "has NVIDIA L4, which this image is not built to use; use a CPU type such as ml.c7i.2xlarge",
    ),
    Broken(
        "accelerator-is-used",
        "warning",
        "serving.tensor_parallel_degree",
        on("ml.g6.12xlarge", engine="vllm", tensor_parallel_degree=2),
        "2 uses 2 of the 4 accelerators of ml.g6.12xlarge: vllm starts one copy; use 4 or a smaller type",
    ),
    Broken(  # 12 heads
        "accelerator-is-used",
        "warning",
        "serving.tensor_parallel_degree",
        on("ml.g6.48xlarge", {"id": "openai-community/gpt2"}, engine="vllm"),
        "4 uses 4 of the 8 accelerators of ml.g6.48xlarge: vllm starts one copy; use a smaller type",
    ),
    Broken(
        "host-image-fits-platform",
        "error",
        "hosting.inference_ami_version",
        on("ml.g6.2xlarge", ami=NEURON),
        "is made for AWS Neuron, which ml.g6.2xlarge has not; remove the setting",
    ),
    Broken(
        "host-image-fits-platform",
        "error",
        "hosting.inference_ami_version",
        on("ml.c7i.4xlarge", ami=GPU_3, engine="huggingface", version=CPU_VERSION),
        "is made for NVIDIA GPUs, which ml.c7i.4xlarge has not",
    ),
    Broken(
        "driver-fits-image",
        "warning",
        "hosting.inference_ami_version",
        on("ml.g6.2xlarge", ami=GPU_3),
        "has a driver for another CUDA than the image's 13.0: some such pairs die without a log line "
        "(aws/deep-learning-containers#6187); remove the setting to have it derived",
    ),
    Broken(
        "driver-fits-image",
        "warning",
        "hosting.inference_ami_version",
        on("ml.g6.2xlarge", ami="al2-ami-sagemaker-inference-gpu-2-1", version="0.36.0-lmi24"),
        "another CUDA than the image's 12.9",
    ),
    Broken(  # the catalog knows what the name of the copy does not say
        "driver-fits-image",
        "warning",
        "hosting.inference_ami_version",
        on("ml.g6.2xlarge", ami=GPU_3, **image("vllm:server-sagemaker-cuda-v2.2")),
        "another CUDA than the image's 13.0",
    ),
    Broken(
        "host-image-is-derived",
        "note",
        "hosting.inference_ami_version",
        on("ml.g6.2xlarge"),
        f"is not set, so {GPU_4} is derived: the image holds CUDA 13",
    ),
    Broken(
        "ami-is-known",
        "unknown",
        "hosting.inference_ami_version",
        on("ml.p6-b200.48xlarge"),
        "is not known for a CUDA 13 image on ml.p6-b200.48xlarge; find out which host image brings driver 580 or newer",
    ),
    Broken(
        "ami-is-known",
        "unknown",
        "hosting.inference_ami_version",
        on("ml.g6.2xlarge", **image("own:1")),
        "can't be derived, because serving.image_uri names no CUDA version (cu128, say); set it",
    ),
    Broken(
        "accelerator-is-new-enough",
        "error",
        "hosting.instance_type",
        on("ml.p3.2xlarge", ami=GPU_4),
        "'ml.p3.2xlarge' has NVIDIA V100 GPUs, which the CUDA 13 of this image no longer drives; use a newer type, "
        "or a serving.version with an older CUDA where there is one",
    ),
    Broken(
        "accelerator-is-new-enough",
        "error",
        "hosting.instance_type",
        on("ml.p2.xlarge", version="0.25.0"),
        "'ml.p2.xlarge' has NVIDIA K80 GPUs (compute capability 3.7), and vLLM needs 7.0 (vllm#1284); use a newer type",
    ),
    Broken(
        "accelerator-is-new-enough",
        "error",
        "hosting.instance_type",
        on("ml.p2.xlarge", BERT, engine="huggingface", version="2.3.0-transformers4.48.0-gpu"),
        "'ml.p2.xlarge' has NVIDIA K80 GPUs, which the CUDA 12 of this image no longer drives",
    ),
    Broken(
        "first-v1-needs-ampere",
        "error",
        "serving.environment.VLLM_USE_V1",
        on("ml.p3.2xlarge", version="0.32.0-lmi14", environment={"VLLM_USE_V1": "1"}),
        "1 needs compute capability 8.0 with vLLM 0.7.1; the NVIDIA V100 of ml.p3.2xlarge has 7.0: remove it",
    ),
    Broken(
        "dtype-fits-accelerator",
        "error",
        "model.dtype",
        on("ml.g4dn.2xlarge", SMALL | {"dtype": "bf16"}, engine="vllm"),
        "bf16 is refused on the NVIDIA T4 of ml.g4dn.2xlarge (compute capability 7.5, 8.0 is needed); use fp16, or a",
    ),
    Broken(  # what the container is told by hand
        "dtype-fits-accelerator",
        "error",
        "model.dtype",
        on("ml.g4dn.2xlarge", engine="vllm", environment={"SM_VLLM_DTYPE": "bfloat16"}),
        "bf16 is refused",
    ),
    Broken(  # the weights are in bf16, and an early vLLM takes them as they are
        "dtype-fits-accelerator",
        "error",
        "model.dtype",
        on("ml.g4dn.2xlarge", {"id": "Qwen/Qwen2.5-0.5B-Instruct"}, version="0.33.0-lmi15"),
        "bf16 is refused",
    ),
    Broken(
        "dtype-fits-model",
        "error",
        "model.dtype",
        on("ml.g6.2xlarge", {"id": "unsloth/gemma-3-4b-it", "dtype": "fp16"}, max_model_len=8192),
        "fp16 is refused with Gemma3ForConditionalGeneration; use bf16, or leave it out",
    ),
    Broken(
        "attention-fits-accelerator",
        "error",
        "hosting.instance_type",
        on(
            "ml.g4dn.2xlarge",
            {"id": "TheBloke/Mistral-7B-v0.1-AWQ", "quantization": "awq"},
            engine="tgi",
            version="1.4.0",
        ),
        "tgi 1.4.0 runs MistralForCausalLM by flash attention 2 only, which needs 8.0: use a newer type such as ml.g5",
    ),
]

KEPT = [
    Kept("image-fits-platform", on(["ml.c7i.2xlarge", "ml.g6.2xlarge"], engine="llama-cpp")),  # for CPUs, runs on both
    Kept("image-fits-platform", on(["ml.c7i.2xlarge", "ml.g6.2xlarge"], engine="custom", **image("own:1"))),
    Kept(  # torch emulates it
        "dtype-fits-accelerator",
        on("ml.g4dn.2xlarge", SMALL | {"dtype": "bf16"}, engine="lmi-huggingface", version="0.27.0"),
    ),
    Kept("image-fits-platform", on("ml.c7i.4xlarge", engine="huggingface", version=CPU_VERSION)),
    Kept("image-fits-platform", on("ml.inf2.8xlarge", engine="lmi-neuronx")),
    Kept("image-fits-platform", on("ml.c7g.4xlarge", engine="llama-cpp", version="1.0.1-cpu-arm64")),
    Kept("image-fits-platform", on("ml.m5.xlarge", engine="custom", **image("own:1"))),
    Kept("accelerator-is-used", on("ml.g6.12xlarge", engine="vllm")),
    Kept("accelerator-is-used", on("ml.g6.12xlarge", engine="lmi-vllm", tensor_parallel_degree=2)),  # starts two copies
    Kept("host-image-fits-platform", on("ml.inf2.8xlarge", ami=NEURON, engine="lmi-neuronx")),
    Kept("driver-fits-image", on("ml.g6.2xlarge", ami=GPU_4)),
    Kept("driver-fits-image", on("ml.g5.2xlarge", ami=GPU_3, engine="tgi", version="1.0.3")),  # CUDA 11 runs on all
    Kept("driver-fits-image", on("ml.g6.2xlarge", ami=GPU_3, engine="tgi")),
    Kept("host-image-is-derived", on("ml.g6.2xlarge", ami=GPU_4)),
    Kept("ami-is-known", on("ml.p6-b200.48xlarge", ami=GPU_4)),
    Kept("ami-is-known", on("ml.g6.2xlarge", **image("own:1-cu130"))),
    Kept("ami-is-known", on("ml.g6.2xlarge", **image("vllm:server-sagemaker-cuda-v2.2"))),
    Kept("ami-is-known", on("ml.m5.xlarge", engine="custom", **image("own:1"))),
    Kept(
        "image-fits-platform",
        on(
            "ml.inf1.xlarge",
            engine="custom",
            **image(FIRST_NEURON),
        ),
    ),
    Kept("accelerator-is-new-enough", on("ml.p3.2xlarge", version="0.33.0-lmi15")),
    Kept("accelerator-is-new-enough", on("ml.g4dn.2xlarge")),
    Kept(
        "accelerator-is-new-enough",
        on("ml.p2.xlarge", BERT, engine="huggingface", version="1.13.1-transformers4.26.0-gpu"),
    ),
    Kept("first-v1-needs-ampere", on("ml.g5.2xlarge", version="0.32.0-lmi14", environment={"VLLM_USE_V1": "1"})),
    Kept("dtype-fits-accelerator", on("ml.g5.2xlarge", SMALL | {"dtype": "bf16"}, engine="vllm")),
    Kept("dtype-fits-accelerator", on("ml.g4dn.2xlarge", SMALL | {"dtype": "fp16"}, engine="vllm")),
    Kept("dtype-fits-accelerator", on("ml.g4dn.2xlarge", {"id": "Qwen/Qwen2.5-0.5B-Instruct"}, engine="vllm")),
    Kept("dtype-fits-accelerator", on("ml.inf2.8xlarge", SMALL | {"dtype": "bf16"}, engine="lmi-neuronx")),
    Kept("dtype-fits-model", on("ml.g6.2xlarge", {"id": "unsloth/gemma-3-4b-it", "dtype": "bf16"})),
    Kept("dtype-fits-model", on("ml.g6.2xlarge", {"id": "unsloth/gemma-3-4b-it", "dtype": "fp16"}, engine="tgi")),
    Kept(
        "attention-fits-accelerator",
        on(
            "ml.g5.2xlarge",
            {"id": "TheBloke/Mistral-7B-v0.1-AWQ", "quantization": "awq"},
            engine="tgi",
            version="1.4.0",
        ),
    ),
    Kept(
        "attention-fits-accelerator",
        on("ml.g4dn.2xlarge", {"id": "TheBloke/Llama-2-7B-AWQ"}, engine="tgi", version="1.4.0"),
    ),
]
