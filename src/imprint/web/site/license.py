"""The licence of the site for machines: Really Simple Licensing 1.0 (RSL)."""

from imprint.web.http.escapes import xml_text

LICENSE_TYPE = "application/rsl+xml"


def license_document(service: str, ai_training: str) -> str:
    """The document at `/license.xml`. Search is always permitted; what is paid stays paid."""
    trains = ai_training == "permit"
    permitted = "search ai-input ai-train" if trains else "search ai-input"
    prohibited = "" if trains else '      <prohibits type="usage">ai-train</prohibits>\n'
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<rsl xmlns="https://rslstandard.org/rsl">\n'
        f'  <content url="{xml_text(service)}/">\n'
        "    <license>\n"
        f'      <permits type="usage">{permitted}</permits>\n'
        f"{prohibited}"
        '      <payment type="attribution"/>\n'
        "    </license>\n"
        "  </content>\n"
        "</rsl>\n"
    )
