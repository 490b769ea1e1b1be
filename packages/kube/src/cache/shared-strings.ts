/** Longer ones repeat too rarely to pay for their hashing. */
const LONGEST = 128;

/** Deeper down strings stay as they are: each level costs stack, and servers take objects ten thousand levels deep. */
const DEEPEST = 100;

/**
 * Lets equal string values of freshly parsed objects be one string: a parser makes each anew, and most of what a list holds (namespaces, labels, types,
 * addresses) repeats in every object. The result is for one list; it is forgotten with it. Edits in place.
 */
export function stringSharer(): (parsed: object) => void {
  const known = new Map<string, string>();
  const one = (text: string): string => {
    if (text.length > LONGEST) return text;
    const first = known.get(text);
    if (first !== undefined) return first;
    known.set(text, text);
    return text;
  };
  const share = (parsed: object, depth: number): void => {
    const fields = parsed as Record<string, unknown>;
    for (const name of Object.keys(fields)) {
      const value = fields[name];
      if (typeof value === 'string') fields[name] = one(value);
      else if (typeof value === 'object' && value !== null && depth < DEEPEST) share(value, depth + 1);
    }
  };
  return (parsed) => share(parsed, 0);
}
