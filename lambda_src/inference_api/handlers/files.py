"""OpenAI's Files API: POST and GET /files, GET and DELETE /files/{id}, GET /files/{id}/content."""

from inference_api.batches.batch import File
from inference_api.batches.multipart_form import Part, read_form
from inference_api.batches.service import batch_service
from inference_api.http.gateway import Request, Response, answers
from inference_api.shared import errors
from inference_api.shared.errors import ApiError
from inference_api.shared.runtime import runtime
from inference_api.shared.settings import job_settings

# An event of Lambda has at most 6 MB, and the body in it is base64.
MOST_FILE_BYTES = 4_500_000

_MOST, _MOST_INLINE_BYTES = 10_000, 4_000_000
_LONGEST_NAME = 255
_SHORTEST_LIFE, _LONGEST_LIFE = 3600, 2_592_000


@answers
def handler(request: Request) -> Response:
    """Answer one of the five routes, by method and path."""
    if "id" not in request.path:
        return _upload(request) if request.method == "POST" else _list(request)
    service = batch_service()
    file = service.table.find_file(request.path["id"], request.owner)
    if request.resource.endswith("/content"):
        return _content(file)
    if request.method == "DELETE":
        service.table.remove(file)  # the bucket's rules delete the object, which a batch may still need
        return Response(200, {"id": file.id, "object": "file", "deleted": True})
    return Response(200, file.view())


def _upload(request: Request) -> Response:
    if len(request.body) > MOST_FILE_BYTES:
        raise errors.file_too_large(MOST_FILE_BYTES)
    parts = read_form(request.body, request.content_type)
    file = _only_file(parts)
    fields = {part.name: part.body.decode(errors="replace") for part in parts if part.name != "file"}
    if fields.get("purpose") != "batch":
        raise _invalid("purpose", "must be batch, the only purpose of files here")
    service, current = batch_service(), runtime()
    file_id, owner, now = f"file-{current.new_id()}", request.owner, int(current.now())
    kept_for = seconds_to_keep(fields.get("expires_after[anchor]"), fields.get("expires_after[seconds]"))
    key, version = service.storage.put_file(file_id, file.body)
    name = (file.filename or "upload")[-_LONGEST_NAME:]
    row = File(file_id, owner, name, len(file.body), "batch", key, version, now, now + kept_for)
    service.table.add(row)
    return Response(200, row.view())


def _only_file(parts: list[Part]) -> Part:
    files = [part for part in parts if part.name == "file" or part.filename is not None]
    if len(files) != 1 or files[0].name != "file":
        raise _invalid("file", f"must be the only file of the form, which has {len(files)}")
    return files[0]


def seconds_to_keep(anchor: object, seconds: object) -> int:
    """Return how long to keep a file, in seconds: at most the retention of jobs, when the bucket deletes it.

    anchor, seconds: the members of `expires_after`. Raises ApiError 400.
    """
    longest = job_settings().times.retention
    if anchor is None and seconds is None:
        return longest
    if anchor != "created_at":
        raise _invalid("expires_after.anchor", "must be created_at")
    text = str(seconds)
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and _SHORTEST_LIFE <= int(text) <= _LONGEST_LIFE):
        raise _invalid("expires_after.seconds", f"must be a whole number from {_SHORTEST_LIFE} to {_LONGEST_LIFE}")
    return min(int(text), longest)


def _list(request: Request) -> Response:
    purpose, order = request.query.get("purpose"), request.query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise _invalid("order", "must be asc or desc")
    page = batch_service().table.page(
        File,
        request.owner,
        request.whole_number("limit", 1, _MOST, _MOST),
        request.query.get("after"),
        lambda file: purpose is None or file.purpose == purpose,
        newest=order == "desc",
    )
    return Response(200, list_view([file.view() for file in page.rows], page.has_more))


def list_view(views: list[dict[str, object]], has_more: bool) -> dict[str, object]:
    """Return a list of objects in OpenAI's form."""
    first, last = (views[0]["id"], views[-1]["id"]) if views else (None, None)
    return {"object": "list", "data": views, "first_id": first, "last_id": last, "has_more": has_more}


def _content(file: File) -> Response:
    """Return the file's text, or a redirect to the bucket if it is too large for a function, or not UTF-8."""
    service = batch_service()
    if file.bytes <= _MOST_INLINE_BYTES:
        try:
            text = service.storage.read_file(file).decode()
        except UnicodeDecodeError:
            pass
        else:
            return Response(200, text, content_type="application/jsonl")
    return Response(302, "", content_type="text/plain; charset=utf-8", location=service.storage.link(file))


def _invalid(field: str, problem: str) -> ApiError:
    return ApiError("invalid_parameter", f"{field}: {problem}.", field=field)
