"""Of the container image: versions, regions, tags."""

from typing import Any

from rule_cases import ASYNC, OWN_REGISTRY, Broken, Changes, Kept

AWS_REGISTRY = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
OWN_IMAGE = f"{OWN_REGISTRY}/lmi:1-cu130"
SMALL = {"id": "facebook/opt-1.3b"}


def serving(**settings: Any) -> Changes:
    return {"serving": settings}


def async_lmi(**settings: Any) -> Changes:
    return {"model": SMALL, "serving": settings, "hosting": ASYNC}


BROKEN = [
    Broken(
        "known-engine-version",
        "error",
        "serving.version",
        serving(engine="tgi", version="1.4.9"),
        "'1.4.9' is not a version of tgi; use one of 1.4.5",
    ),
    Broken(
        "known-engine-version",
        "error",
        "serving.version",
        {"serving": {"engine": "huggingface", "version": "4.26.0"}, "hosting": {"instance_type": "ml.inf2.xlarge"}},
        "'4.26.0' of huggingface has images for cpu (x86_64), gpu (x86_64), and none for ml.inf2.xlarge",
    ),
    Broken("region-has-images", "error", "region", {"region": "eu-west-9"}, "use one of eu-west-3"),
    Broken(
        "image-is-in-region",
        "error",
        "serving.image_uri",
        {"region": "eu-west-1", "serving": {"image_uri": OWN_IMAGE}},
        "is not in the deployment's region eu-west-1; copy the image there and write ${AWS::Region} for the region",
    ),
    Broken(  # AWS GovCloud has registries of its own
        "image-is-in-region",
        "error",
        "serving.image_uri",
        {
            "region": "us-gov-west-1",
            "serving": {
                "image_uri": "763104351884.dkr.ecr.us-gov-west-1.amazonaws.com/djl-inference:0.36.0-lmi28.0.0-cu130"
            },
        },
        "names AWS's image account of another region; in us-gov-west-1 it is 442386744353",
    ),
    Broken(
        "image-is-pinned",
        "warning",
        "serving.image_uri",
        serving(image_uri=f"{OWN_REGISTRY}/djl-inference", engine="custom"),
        "has no tag, so it is whatever `latest` is then; add one, or a digest",
    ),
    Broken(
        "image-answers-sagemaker",
        "warning",
        "serving.image_uri",
        serving(image_uri=f"{OWN_REGISTRY}/vllm-openai:v0.11.0-cu128", engine="custom"),
        "looks like its makers' own image, most of which do not answer as SageMaker asks",
    ),
    Broken(
        "image-answers-sagemaker",
        "warning",
        "serving.image_uri",
        serving(image_uri=f"{OWN_REGISTRY}/text-embeddings-inference:86-1.6.1-cu128", engine="custom"),
        "looks like its makers' own image",
    ),
    Broken(
        "image-answers-sagemaker",
        "warning",
        "serving.image_uri",
        serving(image_uri=f"{OWN_REGISTRY}/vllm-openai", engine="custom"),
        "looks like its makers' own image, most of which do not answer as SageMaker asks",
        frozenset({"image-is-pinned"}),
    ),
    Broken(
        "image-tag-is-known",
        "warning",
        "serving.image_uri",
        serving(image_uri=f"{AWS_REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu131"),
        "of djl-inference in the catalog; if it is not newer, use one of 0.36.0-lmi28.0.0-cu130",
    ),
    Broken(
        "image-is-published-there",
        "warning",
        "region",
        {"region": "cn-north-1", "serving": {"engine": "vllm", "version": "0.30.0"}},
        "for vllm 0.30.0; use another version, or copy the image there and set serving.image_uri",
    ),
    Broken(
        "image-uri-wins",
        "warning",
        "serving.version",
        serving(image_uri=OWN_IMAGE, version="0.36.0-lmi28"),
        "'0.36.0-lmi28' only says which request bodies the image takes: serving.image_uri names the image",
    ),
    Broken(
        "lmi-answers-async",
        "warning",
        "serving.version",
        async_lmi(version="0.30.0-lmi12"),
        "'0.30.0-lmi12' is an LMI image whose answers were seen to be lost with hosting.mode: async; use 0.31.0 or",
    ),
    Broken(
        "lmi-answers-async",
        "warning",
        "serving.image_uri",
        async_lmi(image_uri=f"{OWN_REGISTRY}/djl-inference:0.30.0-lmi12.0.0-cu124"),
        "use 0.31.0 or newer, or realtime",
    ),
    Broken(  # a copy under another name
        "lmi-answers-async",
        "warning",
        "serving.image_uri",
        async_lmi(image_uri=f"{OWN_REGISTRY}/team/llm:0.27.0-deepspeed0.12.6-cu121", engine="lmi-deepspeed"),
        "use 0.31.0 or newer",
    ),
]

KEPT = [
    Kept("known-engine-version", serving(engine="tgi", version="1.4.0")),
    Kept(  # a type that another rule refuses
        "known-engine-version",
        {"serving": {"engine": "huggingface", "version": "4.26.0"}, "hosting": {"instance_type": "ml.g5.2xlrge"}},
    ),
    Kept("region-has-images", {"region": "eu-west-3"}),
    Kept("region-has-images", {"region": "eu-west-9", "serving": {"image_uri": OWN_IMAGE}}),
    Kept("image-is-in-region", {"region": "us-west-2", "serving": {"image_uri": OWN_IMAGE}}),
    Kept(
        "image-is-in-region",
        {
            "region": "eu-west-1",
            "serving": {"image_uri": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/lmi:1-cu130"},
        },
    ),
    Kept("image-tag-is-known", serving(image_uri=f"{AWS_REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130")),
    Kept("image-tag-is-known", serving(image_uri=f"{AWS_REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130-v1.2")),
    Kept("image-tag-is-known", serving(image_uri=f"{AWS_REGISTRY}/djl-inference@sha256:{'0' * 64}")),
    Kept("image-tag-is-known", serving(image_uri=f"{OWN_REGISTRY}/djl-inference:mine")),
    Kept("image-answers-sagemaker", serving(image_uri=f"{OWN_REGISTRY}/vllm-openai-sagemaker:1", engine="custom")),
    Kept("image-answers-sagemaker", serving(image_uri=f"{OWN_REGISTRY}/vllm-openai:1-sagemaker", engine="custom")),
    Kept("image-tag-is-known", serving(image_uri=f"{AWS_REGISTRY}/another-repository:1")),
    Kept("image-is-published-there", {"region": "us-east-1", "serving": {"engine": "vllm", "version": "0.30.0"}}),
    Kept("image-is-published-there", {"region": "cn-north-1", "serving": {"image_uri": OWN_IMAGE}}),
    Kept("image-uri-wins", serving(image_uri=OWN_IMAGE)),
    Kept("lmi-answers-async", async_lmi(version="0.31.0-lmi13")),
    Kept("lmi-answers-async", async_lmi(image_uri=f"{OWN_REGISTRY}/djl-inference:0.31.0-lmi13.0.0-cu124")),
    Kept("lmi-answers-async", async_lmi(engine="tgi", version="0.9.3")),
    Kept("lmi-answers-async", {"model": SMALL, "serving": {"version": "0.30.0-lmi12"}}),
]
