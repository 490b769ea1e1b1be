import type { MoRef } from '../../vcenter.ts';
import type { Value } from './vim-values.ts';

/** Remembers the value that was read last: of one object clients read many paths below the same property. Good until something happens. */
export class LastRead {
  #ref: MoRef | undefined;
  #name = '';
  #value: Value | undefined;

  value({ type, value }: MoRef, name: string, read: () => Value | undefined): Value | undefined {
    if (this.#ref?.value === value && this.#ref.type === type && this.#name === name) return this.#value;
    const found = read();
    if (this.#ref === undefined) queueMicrotask(() => this.forget());
    this.#ref = { type, value };
    this.#name = name;
    this.#value = found;
    return found;
  }

  forget(): void {
    this.#ref = undefined;
    this.#value = undefined;
  }
}
