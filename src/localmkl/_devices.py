"""Devices: where the numbers of a fit live. PyTorch is imported when one is asked for, and not before.

`None` stands for NumPy on the processor; anything else is a ``torch.device``.
"""

import re
import sys

NAMES = "'cpu', 'cuda', 'cuda:1' (the number of a GPU) or 'auto'"


def check_device(name):
    """Raise unless `name` may be the name of a device."""
    if not isinstance(name, str) or not re.fullmatch(r"cpu|auto|cuda(:\d+)?", name):
        raise ValueError(f"`device` must be {NAMES}, got {name!r}.")


def find_device(name):
    """Return the device of a name, and None for the processor; "auto" is a GPU where there is one."""
    check_device(name)
    if name == "cpu":
        return None
    try:
        import torch
    except ImportError as error:
        if name == "auto":
            return None
        raise ImportError(
            f"`device={name!r}` needs PyTorch, which is not installed: pip install 'localmkl[gpu]', or set "
            "device='cpu'."
        ) from error
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return torch.device("cuda") if count else None
    number = int(name.partition(":")[2] or 0)
    if number >= count:
        raise ValueError(
            f"`device={name!r}` needs a GPU of that number, PyTorch finds {count or 'none'}; set "
            "device='cpu' or 'auto'."
        )
    return torch.device(name)


def is_tensor(value):
    """Whether a value is a tensor of PyTorch, which is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def free_bytes(device):
    """Return the bytes that can be taken on a device; None where it is not known."""
    import torch

    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + kept


def require_device_memory(needed, what, device, hint):
    """Raise MemoryError unless so many bytes can be had on a device."""
    free = free_bytes(device)
    if free is not None and needed > free:
        raise MemoryError(
            f"{what} needs {int(needed):,} bytes on {str(device)!r}, {int(free):,} bytes are free there; "
            f"{hint}."
        )
