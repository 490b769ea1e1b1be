export * from './fake-client.ts';
export * from './fake-cluster.ts';
export * from './fake-store.ts';
