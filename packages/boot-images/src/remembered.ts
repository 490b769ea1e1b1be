/** What is made when it is first asked for, and remembered. `until`: is given what has it forgotten. */
export function remembered<T>(make: () => T, until: (forget: () => void) => void = () => undefined): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    if (made === undefined) {
      made = { value: make() };
      until(() => {
        made = undefined;
      });
    }
    return made.value;
  };
}

/** The same, remembered for as long as nothing else can run: whoever asks right before a removal is answered by what is known by then. */
export function untilNextTurn<T>(make: () => T): () => T {
  return remembered(make, queueMicrotask);
}
