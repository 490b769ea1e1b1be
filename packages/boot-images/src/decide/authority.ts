import { nonEmpty, object } from '../observe/json.ts';

/** What a set of Machine API says of who manages its machines: as asked for, and as it is; the latter only where its status says so. */
export function authorityOf({ spec, status }: { readonly spec?: unknown; readonly status?: unknown }): {
  readonly asked: string;
  readonly is: string;
} {
  const of = (part: unknown): string | undefined => nonEmpty(object(part)['authoritativeAPI']);
  const asked = of(spec) ?? 'MachineAPI';
  return { asked, is: of(status) ?? asked };
}
