export * from './cloud-crash.ts';
export * from './clouds/cloud-server.ts';
export * from './clouds/compute.ts';
export * from './fake-client.ts';
export * from './fake-cluster.ts';
export * from './fake-control-plane.ts';
export * from './fake-gcp.ts';
export * from './fake-store.ts';
