import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { changed, type PageChange } from '../src/state/changes.ts';
import type { PageHead, PageSections, PageState } from '../src/state/page-state.ts';

/** How the stream stands. */
export type Link = 'opening' | 'live' | 'gone';

/** The page as the server told it last; undefined before it has. */
export const state = signal<PageState | undefined>(undefined);
export const link = signal<Link>('opening');
/** Why the server cannot read the cluster; '' where it can. */
export const trouble = signal('');

export const head: ReadonlySignal<PageHead | undefined> = computed(() => state.value?.head);

/** The rows of one section; equal ones are the same value, so that what has not changed is not drawn again. */
export function section<K extends keyof PageSections>(name: K): ReadonlySignal<PageSections[K]> {
  return computed(() => state.value?.sections[name] ?? EMPTY);
}

const EMPTY: readonly never[] = [];
/** The server says something every five seconds; who hears nothing for so long (ms) is alone. */
const SILENCE_MS = 16_000;
const AGAIN_MS = 3000;

let heard = 0;

/** Follows the server, for as long as the page is open. */
export function follow(): void {
  open();
  setInterval(() => {
    if (link.value === 'live' && Date.now() - heard > SILENCE_MS) link.value = 'gone';
  }, 1000);
}

function open(): void {
  const stream = new EventSource('events');
  const on = (name: string, take: (data: unknown) => void): void =>
    stream.addEventListener(name, ({ data }: MessageEvent<string>) => {
      heard = Date.now();
      link.value = 'live';
      take(JSON.parse(data));
    });
  on('state', (data) => {
    trouble.value = '';
    take(data as PageState);
  });
  on('change', (data) => {
    trouble.value = '';
    if (state.value !== undefined) take(changed(state.value, data as PageChange));
  });
  on('seen', (data) => {
    trouble.value = '';
    if (state.value !== undefined) take({ ...state.value, asOf: (data as { readonly asOf: string }).asOf });
  });
  on('trouble', (data) => {
    trouble.value = (data as { readonly text: string }).text;
  });
  on('beat', () => undefined);
  stream.onerror = () => {
    link.value = 'gone';
    if (stream.readyState !== EventSource.CLOSED) return;
    // An answer that is no stream is not tried again by itself.
    setTimeout(open, AGAIN_MS);
  };
}

function take(next: PageState): void {
  state.value = next;
}
