"""The error of a model that can't be read, importable without boto3 and huggingface_hub."""


class UnreadableModelError(Exception):
    """The Hub, the bucket or the folder gave nothing that a lock could hold; the message is one sentence."""
