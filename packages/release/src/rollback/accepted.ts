import { FINAL } from '../state/way-back.ts';
import type { RollbackWish } from './wish.ts';

/** Whether nobody has accepted a finding that stops a way: by its name, or the beginning of one up to a colon. */
export function isStop(
  { accepted }: Pick<RollbackWish, 'accepted'>,
  { id, class: kind }: { readonly id: string; readonly class: string },
): boolean {
  const name = `Rollback/${id}`;
  if (FINAL.has(kind)) return true;
  return !accepted.some((one) => one === '*' || one === name || (one.includes('/') && name.startsWith(`${one}:`)));
}
