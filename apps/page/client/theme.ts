import { effect, signal } from '@preact/signals';

/** What a reader asked for: `system` follows the browser. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'drydock-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'dark', dark: 'light', light: 'system' };

export const theme = signal<Theme>(stored());

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
});

/** Goes to the next theme. */
export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // A browser that keeps nothing follows its own choice at the next visit.
  }
}

function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system';
  }
}
