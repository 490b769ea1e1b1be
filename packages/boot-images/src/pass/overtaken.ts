import { upstreamRefusal } from '../decide/coexistence.ts';
import { heldBack } from '../decide/control-plane.ts';
import { skip } from '../decide/decide.ts';
import { clusterStable } from '../decide/gates.ts';
import { type KeptSet, setNow, setText } from '../observe/kept-set.ts';
import { streamOf } from '../observe/stream.ts';
import type { Platform, PlatformInput } from '../platform.ts';
import { heldByPolicy } from '../policy/held.ts';
import type { SetOutcome } from '../status/subject.ts';
import { samePin } from '../way-back/pin.ts';
import { besideUpstream, duringUpgrade, notSelected, pinChanged } from './left-alone.ts';
import { type AskPorts, questionAbout } from './question.ts';
import { leftToUpstream, selectionNow } from './selection-now.ts';

/**
 * Why a set that was asked about must be left alone by now: an image may have taken an hour to make, and a call its time. `before`: what its platform was asked then. Throws `BootImageError` where that
 * cannot be decided.
 */
export function overtaken(
  asking: KeptSet,
  ports: AskPorts,
  before?: { readonly platform: Platform; readonly input: PlatformInput },
): SetOutcome | undefined {
  const { world } = ports;
  const set = setNow(world, asking);
  const refusal = upstreamRefusal(world.upstream());
  if (refusal !== undefined && (set === undefined || leftToUpstream(set, ports))) return besideUpstream(refusal, {});
  const version = world.clusterVersion();
  if (version !== undefined && !clusterStable(version)) return duringUpgrade;
  if (set === undefined || set.metadata.uid !== asking.metadata.uid)
    return skip(false, 'Deleting', 'being deleted', `${setText(asking)} was deleted`);
  const why = refusal === undefined ? selectionNow(world)(set) : undefined;
  if (why !== undefined) return notSelected(set, why);
  // As it is now: the release may have become another one while the image of before was made.
  const stream = streamOf(world.golden());
  if (stream === undefined) return decidedAgain(set, undefined);
  const asked = questionAbout(set, stream, ports);
  if (asked.kind === 'skip') return asked;
  if (!samePin(asked.input.pin, before?.input.pin)) return pinChanged(set);
  const held = heldBack(set, version) ?? heldByPolicy(asked, ports.now());
  if (held !== undefined || before === undefined || asked.input.pin !== undefined) return held;
  const [wanted, now] = [before.platform.target(before.input), asked.platform.target(asked.input)];
  return wanted === now ? undefined : decidedAgain(set, now);
}

/** The release or a policy asks for another image than the one that was made. The change wakes a pass. */
function decidedAgain(set: KeptSet, target: string | undefined): SetOutcome {
  return {
    kind: 'waiting',
    phase: 'Pending',
    reason: 'ImageChanged',
    brief: 'decided again',
    message: `the release or a policy has changed: ${setText(set)} is to have ${target ?? 'another image'}, and is decided about again`,
  };
}
