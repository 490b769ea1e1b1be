import type { VCenter } from '@drydock/vsphere';

/**
 * The same vCenter, each of whose calls is told when it ends: by its name in `VCenter` (`children`, `tags.attach`) and with what it failed with.
 * A proxy, so that a method that the interface gains is counted too.
 */
export function countedCalls(vcenter: VCenter, onCall: (method: string, error?: unknown) => void): VCenter {
  const counted = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof name === 'symbol') return value;
        const method = prefix + name;
        if (typeof value === 'object' && value !== null) return counted(value, `${method}.`);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          const answer: unknown = Reflect.apply(value, target, args);
          if (answer instanceof Promise) {
            answer.then(
              () => onCall(method),
              (error: unknown) => onCall(method, error),
            );
          }
          return answer;
        };
      },
    });
  return counted(vcenter, '');
}
