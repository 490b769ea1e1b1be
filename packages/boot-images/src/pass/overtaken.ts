import { upstreamRefusal } from '../decide/coexistence.ts';
import { heldBack } from '../decide/control-plane.ts';
import { skip } from '../decide/decide.ts';
import { clusterStable } from '../decide/gates.ts';
import { type KeptSet, setNow, setText } from '../observe/kept-set.ts';
import type { SetOutcome } from '../status/boot-image.ts';
import { type Pin, samePin } from '../way-back/pin.ts';
import type { ReleaseStream } from './item.ts';
import { besideUpstream, duringUpgrade, notSelected, pinChanged } from './left-alone.ts';
import { type AskPorts, questionAbout } from './question.ts';
import { selectionNow } from './selection-now.ts';

/** Why a set that was asked about must be left alone by now: an image may have taken an hour to make, and a call its time. `pin` is the one that it was asked about with. */
export function overtaken(asking: KeptSet, stream: ReleaseStream, ports: AskPorts, pin?: Pin): SetOutcome | undefined {
  const { world } = ports;
  const refusal = upstreamRefusal(world.upstream());
  if (refusal !== undefined) return besideUpstream(refusal, {});
  const version = world.clusterVersion();
  if (version !== undefined && !clusterStable(version)) return duringUpgrade;
  const set = setNow(world, asking);
  if (set === undefined || set.metadata.uid !== asking.metadata.uid)
    return skip(false, 'Deleting', 'being deleted', `${setText(asking)} was deleted`);
  const why = selectionNow(world)(set);
  if (why !== undefined) return notSelected(set, why);
  const asked = questionAbout(set, stream, ports);
  if (asked.kind === 'skip') return asked;
  return samePin(asked.input.pin, pin) ? heldBack(set, version) : pinChanged(set);
}
