/** `1 place`, `2 places`. */
export function count(of: number, noun: string): string {
  return `${of} ${noun}${of === 1 ? '' : 's'}`;
}
