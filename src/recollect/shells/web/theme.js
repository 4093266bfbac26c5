// Light or dark: as the system says, until the switch says otherwise.

const CHOICE = "recollect.theme";

export function startTheme(button) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => localStorage.getItem(CHOICE);

  function show() {
    const theme = chosen() ?? (system.matches ? "dark" : "light");
    if (chosen()) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    document.dispatchEvent(new CustomEvent("theme"));
  }

  button.addEventListener("click", () => {
    const isDark = button.getAttribute("aria-pressed") === "true";
    const wanted = isDark ? "light" : "dark";
    // The system's own theme needs no choice to be kept.
    if (wanted === (system.matches ? "dark" : "light")) localStorage.removeItem(CHOICE);
    else localStorage.setItem(CHOICE, wanted);
    show();
  });
  system.addEventListener("change", show);
  show();
}
