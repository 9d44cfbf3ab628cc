"""Makes the wheel of the package zazen for pip (PEP 517), with Python's own library only."""
import base64
import hashlib
import pathlib
import zipfile

import zazen

METADATA = f"""Metadata-Version: 2.1
Name: zazen
Version: {zazen.__version__}
Summary: Trajectory frames from the analysis nodes' own disks
License: MIT
Requires-Python: >=3.9
"""
WHEEL = """Wheel-Version: 1.0
Generator: wheel_backend
Root-Is-Purelib: true
Tag: py3-none-any
"""


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The name of the wheel that it has written to the directory."""
    about = f"zazen-{zazen.__version__}.dist-info"
    source = pathlib.Path(zazen.__file__).parent
    files = {f"zazen/{path.name}": path.read_bytes() for path in sorted(source.iterdir())
             if path.suffix in (".py", ".typed")}
    files |= {f"{about}/METADATA": METADATA.encode(), f"{about}/WHEEL": WHEEL.encode()}
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        record += f"{name},sha256={digest},{len(content)}\n"
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n".encode()

    wheel = f"zazen-{zazen.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return wheel
