// The only way from memory to a terminal, as src/recollect/text/terminal.py: control characters show as pictures,
// what is invisible or reorders text does not get through, and JSON has escapes instead.

const INVISIBLE =
  "\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164"
  + "\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}";
const CONTROLS = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u2028\\u2029";
const UNSAFE = new RegExp(`[${CONTROLS}${INVISIBLE}]|\\p{Cs}`, "gu");
const REPLACED = /[\u0080-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;

export function terminalText(text) {
  return text.replaceAll("\r\n", "\n").replace(UNSAFE, shown);
}

export function terminalJson(value) {
  return JSON.stringify(value, null, 2).replace(UNSAFE, escaped);
}

export function print(text, stream = process.stdout) {
  stream.write(`${terminalText(text)}\n`);
}

function shown(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return REPLACED.test(character) ? "\ufffd" : "";
}

function escaped(character) {
  return [...Array(character.length).keys()]
    .map((place) => `\\u${character.charCodeAt(place).toString(16).padStart(4, "0")}`).join("");
}
