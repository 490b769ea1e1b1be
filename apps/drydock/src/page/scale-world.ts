import type { Read, ScaleWorld, VCenterHealth } from '@drydock/page';
import { type LoginNote, lateText } from '@drydock/vsphere';
import { LOGIN_NEXT } from '../login-notes.ts';
import { leaderWords } from '../status.ts';
import type { TreeNow } from '../tree/cluster-tree.ts';

/** What the page and `drydock status --check` answer "can I scale now?" from. */
export function scaleWorld(
  { now, images, tree, leader }: Pick<TreeNow, 'now' | 'images' | 'tree' | 'leader'>,
  logins: readonly LoginNote[],
  vcenters: Read<readonly VCenterHealth[]>,
): ScaleWorld {
  return {
    ...{ now, images, tree, vcenters },
    leader: { state: leader.state, ...leaderWords(leader) },
    logins: logins.map((note) => ({ server: note.server, text: lateText(note), nextStep: LOGIN_NEXT })),
  };
}
