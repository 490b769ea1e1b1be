import { type CallOptions, childText, isVimError, type MoRef, type UpdateFeed } from '@drydock/vsphere';
import { EXTRA_CONFIG, NAMESPACED_NAME } from './watched-paths.ts';

const KEYED = `${EXTRA_CONFIG}["${NAMESPACED_NAME}"]`;

/** Reads the name that a machine carries: by its key, and on a server that refuses keys from the whole list. undefined: it carries none, or is gone. */
export function carriedName(
  feed: Pick<UpdateFeed, 'property'>,
): (ref: MoRef, call?: CallOptions) => Promise<string | undefined> {
  let takesKeys = true;
  return async (ref, call) => {
    if (takesKeys) {
      try {
        const option = await feed.property(ref, KEYED, call);
        return option === undefined ? undefined : childText(option, 'value');
      } catch (error) {
        if (!isVimError(error) || error.fault?.is('InvalidProperty') !== true) throw error;
        takesKeys = false;
      }
    }
    const list = await feed.property(ref, EXTRA_CONFIG, call);
    const option = list?.children.find((one) => typeof one !== 'string' && childText(one, 'key') === NAMESPACED_NAME);
    return option === undefined || typeof option === 'string' ? undefined : childText(option, 'value');
  };
}
