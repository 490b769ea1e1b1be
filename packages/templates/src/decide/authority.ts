import type { Machine } from './machine.ts';

/** Whether something may be done, or why not, as a clause that ends with what to do next. */
export type Permission = { readonly may: true } | { readonly may: false; readonly reason: string };

const YES: Permission = { may: true };

/**
 * Whether a machine may be taken as the one that is wanted, or be pointed at. Its mark must be one of birth, or be recorded by a code; and it must still be
 * what was imported: a template that calls itself another version than its image did is another one.
 */
export function mayPointAt(machine: Machine): Permission {
  const { name, mark, born, proof, version } = machine;
  if (mark === undefined) return unmarked(machine);
  if (!born && proof === 'none')
    return no(
      `${name} was not imported with its mark, and without a key nothing proves that it was adopted: give --mark-key`,
    );
  if (mark.version !== undefined && version !== undefined && version !== '' && version !== mark.version)
    return no(
      `${name} calls itself ${version}, but what was imported called itself ${mark.version}: look at who changed it`,
    );
  return YES;
}

/** Whether a machine may be destroyed: something must prove that it is ours that nobody else in vCenter can make. */
export function mayDestroy(machine: Machine): Permission {
  const { name, mark, proof } = machine;
  if (mark === undefined) return unmarked(machine);
  if (proof === 'none')
    return no(`nothing proves that ${name} is ours: give the key that made its mark, or remove it by hand`);
  return YES;
}

function unmarked({ name, invalid }: Machine): Permission {
  return no(
    invalid === undefined
      ? `${name} bears no mark: adopt it if it is what it should be`
      : `${name} bears a mark that does not count: ${invalid}`,
  );
}

function no(reason: string): Permission {
  return { may: false, reason };
}
