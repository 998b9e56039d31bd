"""The error that EC2 answers a refused request with."""

from local_cloud.emulator.core import ministack

_ec2 = ministack.internals("ministack.services.ec2", "_error", "_esc")


class Ec2Error(Exception):
    """A refusal by EC2: code, message, and the status, which is 500 if EC2 itself cannot serve the request."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(f"{message} (Service: Ec2, Status Code: {status}, Error Code: {code})")
        self.code, self.message, self.status = code, message, status

    def answer(self) -> ministack.Answer:
        answer: ministack.Answer = _ec2._error(self.code, _ec2._esc(self.message), self.status)
        return answer
