/** Where the two failure domains of the demo live in the simulated vCenter: two clusters of one data centre. */
export const places = {
  fd1: place('DC0_C0'),
  fd2: place('DC0_C1'),
} as const;

/** The folder that the installer would have made for this cluster. */
export const folderPath = '/DC0/vm/harbour-7k2xp';

interface Place {
  readonly datacenter: string;
  readonly computeCluster: string;
  readonly datastore: string;
  readonly network: string;
  readonly folder: string;
  readonly resourcePool: string;
}

function place(cluster: string): Place {
  return {
    datacenter: 'DC0',
    computeCluster: `/DC0/host/${cluster}`,
    datastore: '/DC0/datastore/LocalDS_0',
    network: 'VM Network',
    folder: '/DC0/vm/harbour-7k2xp',
    resourcePool: `/DC0/host/${cluster}/Resources`,
  };
}
