/** Where one failure domain lives in the simulated vCenter; paths as Infrastructure gives them. */
export interface Place {
  readonly datacenter: string;
  readonly computeCluster: string;
  readonly datastore: string;
  readonly network: string;
  readonly folder: string;
  readonly resourcePool: string;
}

/** The folder that the installer would have made for this cluster. */
export const folderPath = '/DC0/vm/harbour-7k2xp';

/** The two failure domains of the demo: two clusters of one data centre. */
export const places: Readonly<Record<'fd1' | 'fd2', Place>> = {
  fd1: place('DC0_C0'),
  fd2: place('DC0_C1'),
};

function place(cluster: string): Place {
  return {
    datacenter: 'DC0',
    computeCluster: `/DC0/host/${cluster}`,
    datastore: '/DC0/datastore/LocalDS_0',
    network: 'VM Network',
    folder: folderPath,
    resourcePool: `/DC0/host/${cluster}/Resources`,
  };
}
