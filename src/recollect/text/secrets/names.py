"""Values that are secret because of the name in front of them: `password: …`, `my token is …`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recollect.text.secrets.values import Name, Spot, secret_at

if TYPE_CHECKING:
    from recollect.text.secrets.values import Secret

ASCII_CUES = "p(?:ass|w)|secret|token|k(?:ey|ennwort)|cred|auth|jwt|bearer"
OTHER_CUES = "contraseña|пароль|密码|密碼|パスワード|비밀번호"
"""Each name contains one of these, in lower case."""
_PASSWORDS = (
    "password", "passwd", "passphrase", "passcode", "passwort", "mot de passe", "kennwort", "pwd",
    *OTHER_CUES.split("|"),
)  # fmt: skip
_SHORT_PASSWORDS = ("pass", "pw")
_OF_KEYS = """
account access admin api app application auth bot client decryption deploy encryption function
functions hmac jwt license master private root secret service shared signing ssh storage
subscription webhook
"""
_KEYS = (
    *(f"{word}{joint}key" for word in _OF_KEYS.split() for joint in ("", "_", "-", " ")),
    *("key_base", "keybase", "key-data", "_auth"),
)
_WORDS = ("secret", "token", "jwt", "bearer", "auth", "credential", "credentials", "creds")
_ENDS = (*_PASSWORDS, *_SHORT_PASSWORDS, "key", "key_base", "keybase", "key-data", *_WORDS)
"""How all names end: most words with a cue end differently."""
_MAX_NAME_CHARS = 40
_NAME_REST = re.compile("[A-Za-z0-9_-]{0,24}")

_ASSIGNED = re.compile(
    r"[ \t\r\n\"'`*\\\])]{0,6}"
    r"(?::\s{0,2}&?[A-Za-z][A-Za-z0-9_.<>|\[\]]{0,24}\s{0,2}=(?!=)"  # `password: str = …`
    r"|[:=：→](?:[=>]|\*\*)?|->|\((?=[\"']))[ \t\r\n]{0,4}"
)
_PAIR = re.compile(r"\\?[\"']?\s{0,4},?\s{0,20}\\?[\"']?[Vv]alue\\?[\"']?\s{0,2}[:=]\s{0,2}")
"""Joint in a list of settings: `{"name": "DB_PASSWORD", "value": …}`."""
_TAG = re.compile(r">(?=[^<>\s]{1,256}</)")
_CELL = re.compile(r"[ *`]{1,4}\|[ *]{1,4}")
_SPACE = re.compile(r"[ \t]{1,4}(?!-)")
_QUOTED = re.compile(r"[ ](?=[\"'`“])")
_SAID = re.compile(
    r"(?i)(?:[ ](?:code|for|to|of|on|für|zum|vom|de|del|pour)[^\n.:;!?]{1,40}?)?"
    r"(?:['’]s|[ ](?:is|was|ist|lautet|es|est|é)\b(?:[ ]now)?"
    r"|[ ]?(?:是|为|為|は|는|은|—|–)):?[ ]{0,2}"
)
_NEAR = re.compile(r"(?:[ ][a-z]{1,12}){0,4}:?[ ][\"'`(]?(?=[A-Za-z0-9_+/=-]{24})")
"""What joins a name and its value."""
_OPTION = re.compile(r"(?<![A-Za-z0-9_-])--[A-Za-z0-9_-]*\Z")
_LOGIN = re.compile(r"(?i)\blogin\s{1,4}\S{1,32}\s{1,4}password\Z")


def find_named(text: str, cue_end: int) -> Secret | None:
    """Return the value behind the name that a cue is part of, if it is secret."""
    rest = _NAME_REST.match(text, cue_end)
    end = rest.end() if rest else cue_end
    before = text[max(0, end - _MAX_NAME_CHARS) : end]
    name = _name_at_end(before)
    if name is None:
        return None
    spot = _assigned(text, end, before, name) or _told(text, end, before, name)
    return secret_at(text, spot) if spot else None


def _name_at_end(text: str) -> Name | None:
    """Return what the name at the end of a text suggests; None if it suggests nothing."""
    lowered = text.lower()
    if not lowered.endswith(_ENDS):
        return None
    if lowered.endswith(_PASSWORDS):
        return Name.PASSWORD
    if lowered.endswith(_KEYS) or (text.endswith("_KEY") and text[-5:-4].isalnum()):
        return Name.KEY
    word = next((word for word in (*_SHORT_PASSWORDS, *_WORDS) if lowered.endswith(word)), "")
    if not word:
        return None
    before, first = text[-len(word) - 1 : -len(word)], text[-len(word)]
    if word in _SHORT_PASSWORDS:  # not in `compass`, but in `smtpPass`
        starts = not before.isalnum() or (first.isupper() and before.islower())
        return Name.PASS if starts else None
    is_compound = word in ("secret", "token") and (before.isalnum() or before in ("_", "-"))
    return Name.KEY if is_compound else Name.WORD


def _assigned(text: str, end: int, before: str, name: Name) -> Spot | None:
    """Return where a value starts that is given to a name by some syntax."""
    if found := _PAIR.match(text, end) or _TAG.match(text, end):
        return Spot(found.end(), name, is_tight=True)
    if found := _ASSIGNED.match(text, end):
        return Spot(found.end(), name, is_tight=not any(map(str.isspace, found[0])))
    if (found := _CELL.match(text, end)) and "|" in before.rpartition("\n")[2]:
        return Spot(found.end(), name, is_tight=False)
    if (found := _SPACE.match(text, end)) and _OPTION.search(before):
        return Spot(found.end(), name, is_tight=False)
    return None


def _told(text: str, end: int, before: str, name: Name) -> Spot | None:
    """Return where a value starts that a sentence gives to a name."""
    if name is Name.PASS:
        return None
    is_password = name is Name.PASSWORD
    if found := _SAID.match(text, end):
        is_possessive = not found[0].startswith(" ") and not is_password  # `the token's …`
        return None if is_possessive else Spot(found.end(), name, is_tight=False, is_said=True)
    if is_password and (found := _QUOTED.match(text, end)):
        return Spot(found.end(), name, is_tight=False, is_said=True)
    if is_password and _LOGIN.search(before) and (found := _SPACE.match(text, end)):
        return Spot(found.end(), name, is_tight=True)
    found = _NEAR.match(text, end)
    return Spot(found.end(), Name.NEAR, is_tight=False) if found else None
