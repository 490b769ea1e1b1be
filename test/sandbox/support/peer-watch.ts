import type { KubeObject } from '@drydock/kube';
import { type KubeConfig, Watch } from '@kubernetes/client-node';
import { errorOfStatus } from '../../../packages/kube/src/errors.ts';
import type { Status } from '../../../packages/kube/src/status-object.ts';

/** One event as the peer tells it. */
export interface PeerEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubeObject;
}

/** The events of one of the peer's watches, until the server ends it. Rejects with `ApiError`, and with the signal's reason. */
export async function* peerEvents(
  config: KubeConfig,
  path: string,
  query: Readonly<Record<string, string | number | boolean>>,
  opened: (() => void) | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<PeerEvent> {
  const action = `watch ${path}`;
  const events: PeerEvent[] = [];
  let ended: { readonly error: unknown } | undefined;
  let wake = (): void => undefined;
  const end = (error: unknown): void => {
    ended ??= { error };
    wake();
  };
  const connection = await new Watch(config).watch(
    path,
    query,
    (type, object: unknown) => {
      if (type === 'ERROR') {
        end(errorOfStatus(object as Status, 500, { action }));
        return;
      }
      events.push({ type: type as PeerEvent['type'], object: object as KubeObject });
      wake();
    },
    (error: unknown) => {
      const code = (error as { readonly statusCode?: number } | null)?.statusCode;
      end(code === undefined ? error : errorOfStatus({}, code, { action }));
    },
  );
  const abort = (): void => end(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  opened?.();
  try {
    for (;;) {
      const event = events.shift();
      if (event !== undefined) yield event;
      else if (ended !== undefined) {
        if (ended.error) throw ended.error as Error;
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    connection.abort();
  }
}
