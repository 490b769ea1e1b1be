import type { BootImage } from '@drydock/api';
import { leafName } from './names.ts';
import type { ImageStore } from './options.ts';

/** Templates as BootImages speak of them. A name that none of them speaks of cannot be told, and nothing can be made. */
export function recordedStore(images: readonly BootImage[]): ImageStore {
  const known = new Map<string, string>();
  // A set is pointed at what an operation makes when that is complete, and not before.
  const made = new Map<string, string>();
  for (const { status } of images) {
    const { server = '', name, release } = status?.template ?? {};
    if (name !== undefined && release !== undefined) known.set(`${server} ${name}`, release);
    if (status?.operation?.name !== undefined && status.target !== undefined)
      made.set(status.operation.name, status.target);
  }
  const never = (): never => {
    throw new TypeError('what API objects say of templates is read, and nothing else');
  };
  return {
    inspect: async ({ server }, reference) => {
      const name = leafName(reference);
      const version = known.get(`${server} ${name}`) ?? made.get(name);
      if (version === undefined) throw new NotRecorded(name);
      return { kind: 'present', name, version, isTemplate: true, ours: true };
    },
    publish: never,
    revert: never,
    collect: never,
    list: async ({ folder }) => {
      throw new NotRecorded(`in ${folder}`);
    },
    plan: never,
    guest: never,
  };
}

/** No BootImage speaks of a template. */
export class NotRecorded extends Error {
  override readonly name = 'NotRecorded';

  constructor(template: string) {
    super(`no BootImage says which release template ${template} has`);
  }
}
