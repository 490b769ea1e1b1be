import type { ImageStore } from '@drydock/boot-images';
import type { TemplateStore } from '@drydock/templates';
import type { VCenters } from './vcenters.ts';

/** The store, which tells when it uses a server. */
export function storeDuring(store: TemplateStore, servers: VCenters): ImageStore {
  return {
    inspect: (placement, ...rest) => servers.during(placement.server, () => store.inspect(placement, ...rest)),
    publish: (wish, ...rest) => servers.during(wish.placement.server, () => store.publish(wish, ...rest)),
    revert: (request, ...rest) => servers.during(request.placement.server, () => store.revert(request, ...rest)),
    list: (placement, ...rest) => servers.during(placement.server, () => store.list(placement, ...rest)),
    plan: (request, ...rest) => servers.during(request.wish.placement.server, () => store.plan(request, ...rest)),
    collect: (placement, ...rest) => servers.during(placement.server, () => store.collect(placement, ...rest)),
    guest: (server, ...rest) => servers.during(server, () => store.guest(server, ...rest)),
  };
}
