"""Tensor parallelism: the devices of an instance, and the degrees by which a model's heads can be divided."""

from ..catalog.engines import EngineVersion
from ..catalog.instances import InstanceType
from ..catalog.models import ModelShape


def parallel_devices(instance: InstanceType) -> int:
    """Return the devices that a degree counts: accelerators, on Neuron their cores; 0 on CPU types."""
    return (instance.neuron_cores if instance.kind == "neuron" else instance.accelerator_count) or 0


def heads_divide(shape: ModelShape | None, degree: int) -> bool:
    """Whether each of `degree` devices gets equally many heads; key and value heads may also be copied evenly."""
    heads = (shape.heads if shape else None) or 0
    groups = (shape.kv_heads if shape else None) or heads
    return heads % degree == 0 and (groups % degree == 0 or (0 < groups < degree and degree % groups == 0))


def default_degree(instance: InstanceType, shape: ModelShape | None, version: EngineVersion | None) -> int:
    """Return all devices of the instance, or the largest number by which the model's heads can be divided."""
    if shape and version and version.architectures and shape.architecture in version.architectures.unsplit:
        return 1
    devices = parallel_devices(instance)
    pads = shape is None or instance.kind != "gpu"
    fitting = [n for n in range(1, devices + 1) if devices % n == 0 and (pads or heads_divide(shape, n))]
    return max(fitting, default=1)
