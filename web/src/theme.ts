// Light or dark: as the system, unless the user chose.

import { useEffect, useState } from "preact/hooks";

const THEME_KEY = "ferrosm-theme";
const listeners = new Set<() => void>();
const dark = matchMedia("(prefers-color-scheme: dark)");

export type Theme = "light" | "dark";

export function theme(): Theme {
  const chosen = localStorage.getItem(THEME_KEY);
  if (chosen === "light" || chosen === "dark") return chosen;
  return dark.matches ? "dark" : "light";
}

function apply() {
  document.documentElement.dataset.theme = theme();
  for (const listener of listeners) listener();
}

export function toggleTheme() {
  localStorage.setItem(THEME_KEY, theme() === "dark" ? "light" : "dark");
  apply();
}

dark.addEventListener("change", apply);
apply();

export function useTheme(): Theme {
  const [current, setCurrent] = useState(theme());
  useEffect(() => {
    const listener = () => setCurrent(theme());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return current;
}
