/** A next step as prose and commands, in its order. */
export interface StepPart {
  readonly command: boolean;
  readonly text: string;
}

/** A program of ours or of the cluster with its words, up to the punctuation that ends it; what is quoted is one word. */
const COMMANDS = /(?<![^\s(])(?:drydock|kubectl|oc) (?:"[^"]*"|'[^']*'|[^,;()'"])+/g;

/** Splits a next step, so that a command can be copied and prose be read. Pure. */
export function stepParts(step: string): readonly StepPart[] {
  const parts: StepPart[] = [];
  let at = 0;
  for (const { 0: found, index } of step.matchAll(COMMANDS)) {
    const text = found.trimEnd();
    parts.push({ command: false, text: step.slice(at, index) }, { command: true, text });
    at = index + text.length;
  }
  parts.push({ command: false, text: step.slice(at) });
  return parts.filter(({ text }) => text.trim() !== '');
}
