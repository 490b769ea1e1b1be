import { InvalidArgumentError } from 'commander';

/** The value of a flag that takes a whole number, 0 included. Throws `InvalidArgumentError`. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('a whole number is expected.');
  return value;
}

/** The value of a flag that takes a TCP port; 0 lets the system choose one. Throws `InvalidArgumentError`. */
export function portNumber(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('a port is expected, at most 65535.');
  return Number(text);
}
