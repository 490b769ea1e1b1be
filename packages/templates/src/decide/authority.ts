import type { Machine } from './machine.ts';

/** Whether something may be done, or why not, as a clause that ends with what to do next. */
export type Permission = { readonly may: true } | { readonly may: false; readonly reason: string };

const YES: Permission = { may: true };

/**
 * Whether a machine may be taken as the one that is wanted, or be pointed at. Its ownership must be proven; and it must still be what was imported: a template that calls itself another version than
 * its image did is another one.
 */
export function mayPointAt(machine: Machine): Permission {
  const { name, mark, proof, version } = machine;
  if (mark === undefined) return unmarked(machine);
  if (proof === 'none' || proof === 'noted')
    return no(`nothing proves that ${name} is owned: give --mark-key, or name it in a revert`);
  if (mark.version !== undefined && version !== undefined && version !== '' && version !== mark.version)
    return no(
      `${name} calls itself ${version}, but what was imported called itself ${mark.version}: look at who changed it`,
    );
  return YES;
}

/** Whether a template may get a name back, in a revert or because nothing bears the name: for a command without a key, its own notes suffice. */
export function mayRestore(machine: Machine): boolean {
  return machine.proof === 'noted' || mayPointAt(machine).may;
}

/** Whether a machine may be destroyed: something must prove that it is owned that nobody else in vCenter can make. */
export function mayDestroy(machine: Machine): Permission {
  const { name, mark, proof } = machine;
  if (mark === undefined) return unmarked(machine);
  if (proof === 'none' || proof === 'noted')
    return no(`nothing proves that ${name} is owned: give the key that made its record, or remove it by hand`);
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
