"""The state of a staging: one JSON object beside the prefix, so that any machine can resume it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class StagedFile(BaseModel):
    """One file of the model.

    hub_checksum: the Hub's own, `sha256:...` or `git:...`.
    upload_id: the multipart upload that holds the parts until all files are complete.
    s3_checksum: S3's own, the SHA-256 over the checksums of the parts; None until S3 holds every part.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    path: str
    size: int
    hub_checksum: str
    part_size: int
    upload_id: str
    s3_checksum: str | None = None

    @property
    def part_count(self) -> int:
        """The number of parts. All parts except the last have the same size."""
        return -(-self.size // self.part_size)

    def part(self, number: int) -> tuple[int, int]:
        """Offset and size of a part in bytes. Numbers begin at 1."""
        offset = (number - 1) * self.part_size
        return offset, min(self.part_size, self.size - offset)


class Manifest(BaseModel):
    """The state of a staging.

    `uploading`: no file is visible below the prefix. `completing`: S3 holds every part, and files become visible.
    `complete`: the prefix holds these files and no others.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    format: Literal[1] = 1
    state: Literal["uploading", "completing", "complete"]
    model: str
    revision: str
    commit: str
    weights: str
    files: tuple[StagedFile, ...]

    def to_json(self) -> bytes:
        return (self.model_dump_json(indent=2) + "\n").encode()
