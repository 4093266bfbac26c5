// The dialog that asks for the server's token. It is kept for this tab only.

import { h } from "./dom.js";

let asked = null;

export function askToken({ isWrong }) {
  asked ??= open(isWrong).finally(() => {
    asked = null;
  });
  return asked;
}

function open(isWrong) {
  return new Promise((resolve) => {
    const input = h("input", {
      type: "password", id: "token", required: true, autocomplete: "off", spellcheck: "false",
      "aria-describedby": "token-why",
    });
    const form = h(
      "form",
      { on: { submit: (event) => { event.preventDefault(); finish(); } } },
      h("h2", { id: "token-head" }, "This server asks for a token"),
      h("p", { id: "token-why", class: isWrong ? "note bad" : "soft" },
        isWrong ? "That token was not accepted. " : "",
        "It is the one the server was started with: RECOLLECT_TOKEN, or the file of --token-file."),
      h("label", { for: "token" }, "Token"),
      input,
      h("button", { class: "strong", type: "submit" }, "Continue"),
    );
    const dialog = h("dialog", { "aria-labelledby": "token-head" }, form);
    // Without it nothing can be shown: there is nothing to go back to.
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    document.body.append(dialog);
    dialog.showModal();

    function finish() {
      dialog.close();
      dialog.remove();
      resolve(input.value.trim());
    }
  });
}
