/** What a set of Machine API says of who manages its machines: as asked for, and as it is; the latter only where its status says so. */
export function authorityOf({ spec, status }: { readonly spec?: unknown; readonly status?: unknown }): {
  readonly asked: string;
  readonly is: string;
} {
  const of = (part: unknown): string | undefined => {
    const { authoritativeAPI } = (part ?? {}) as { readonly authoritativeAPI?: unknown };
    return typeof authoritativeAPI === 'string' && authoritativeAPI !== '' ? authoritativeAPI : undefined;
  };
  const asked = of(spec) ?? 'MachineAPI';
  return { asked, is: of(status) ?? asked };
}
