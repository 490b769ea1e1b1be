import { computed, effect, type ReadonlySignal, signal } from '@preact/signals';

/** What a person asked for: the system's choice where nothing. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'drydock-theme';
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'dark', dark: 'light', light: 'system' };
const system = window.matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(system.matches);
system.addEventListener('change', ({ matches }) => {
  systemDark.value = matches;
});

export const theme = signal<Theme>(stored());
export const dark: ReadonlySignal<boolean> = computed(() =>
  theme.value === 'system' ? systemDark.value : theme.value === 'dark',
);

effect(() => {
  document.documentElement.dataset['theme'] = dark.value ? 'dark' : 'light';
});

/** Takes the next one. */
export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // A browser that keeps nothing keeps the system's choice.
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
