// The last questions, remembered by this browser only.

const KEY = "recollect.questions";
const MOST = 8;

export function lastQuestions() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((each) => typeof each === "string").slice(0, MOST) : [];
  } catch (error) {
    if (error instanceof SyntaxError) return []; // something else wrote it
    throw error;
  }
}

export function rememberQuestion(question) {
  const clean = question.trim();
  if (!clean) return;
  const others = lastQuestions().filter((each) => each !== clean);
  localStorage.setItem(KEY, JSON.stringify([clean, ...others].slice(0, MOST)));
}

export function forgetQuestions() {
  localStorage.removeItem(KEY);
}
