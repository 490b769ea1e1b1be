/** The chapters of the demo, in their order. */
export const CHAPTERS = ['boot-images', 'way-back', 'clouds', 'watch', 'rollback', 'rehearsal'] as const;
/** See {@link CHAPTERS}. */
export type Chapter = (typeof CHAPTERS)[number];

/** Reads a comma-separated list; undefined where it names something else. The order is that of the demo, whatever the list's is. */
export function chaptersOf(text: string): readonly Chapter[] | undefined {
  const named = new Set<string>(text.split(',').map((name) => name.trim()));
  const chosen = CHAPTERS.filter((chapter) => named.has(chapter));
  return chosen.length === named.size ? chosen : undefined;
}
