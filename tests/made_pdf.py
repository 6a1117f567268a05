"""Small PDF files, written by hand."""

from __future__ import annotations

from collections.abc import Sequence


def pdf(pages: Sequence[str | None], encrypted: bool = False, filler: int = 0) -> bytes:
    """A PDF with a text on each page, in lines; None makes a page of a picture alone.

    ``filler``: bytes of something that no page needs.
    """
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    bodies = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for i, text in enumerate(pages):
        content = b"0.5 g 72 72 400 600 re f" if text is None else _written(text)
        bodies += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream",
        ]
    if filler:
        bodies.append(f"<< /Length {filler} >>\nstream\n".encode() + b"a" * filler + b"\nendstream")
    trailer = f"/Size {len(bodies) + 1} /Root 1 0 R"
    if encrypted:  # by no password that anybody could give
        keys = "00" * 32
        bodies.append(f"<< /Filter /Standard /V 1 /R 2 /O <{keys}> /U <{keys}> /P -4 >>".encode())
        trailer = f"/Size {len(bodies) + 1} /Root 1 0 R /Encrypt {len(bodies)} 0 R"
        trailer += f" /ID [<{keys}> <{keys}>]"
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(bodies, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    begin = len(out)
    out += f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer\n<< {trailer} >>\nstartxref\n{begin}\n%%EOF\n".encode()
    return bytes(out)


def _written(text: str) -> bytes:
    lines = []
    for line in text.split("\n"):
        raw = line.encode("cp1252").replace(b"\\", b"\\\\")
        raw = raw.replace(b"(", b"\\(").replace(b")", b"\\)")
        lines.append(b"(" + raw + b") Tj T*")
    return b"BT /F1 11 Tf 14 TL 72 720 Td\n" + b"\n".join(lines) + b"\nET"
